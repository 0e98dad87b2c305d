"""Slow, dense and obviously right."""

import jax
import numpy as np


def dense_features(compound, theta, batch):
    """J by differentiating the whole stacked residual at once."""
    return np.asarray(jax.jit(jax.jacfwd(lambda t: compound.residual(t, batch)))(theta))


def truncated_step(features, residual, cutoff):
    """−V Σ† Uᵀ r, straight from the definition."""
    u, s, vt = np.linalg.svd(features, full_matrices=False)
    kept = s > cutoff
    step = np.zeros(features.shape[1])
    for i in np.flatnonzero(kept):
        step -= vt[i] * (u[:, i] @ residual) / s[i]
    return step, int(kept.sum())


def damped_step(features, residual, damping):
    """The minimiser of ‖J p + r‖² + λ‖p‖², as an augmented least squares problem."""
    size = features.shape[1]
    stacked = np.concatenate([features, np.sqrt(damping) * np.eye(size)])
    return np.linalg.lstsq(stacked, -np.concatenate([residual, np.zeros(size)]), rcond=None)[0]


def predicted_reduction(features, residual, step, damping):
    """How much ‖r‖² falls in the damped model: −gᵀp + λ pᵀp."""
    return -(features.T @ residual) @ step + damping * step @ step
