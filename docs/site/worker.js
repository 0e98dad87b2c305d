// A site that is read from a disk may start no worker, and search is one: it runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame.contentWindow;
      this.frame.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = new URL(address, location.href).href;
      script.onload = () => {
        this.loaded = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      if (this.loaded) this.frame.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.frameElement.remove();
    }
  };
}
