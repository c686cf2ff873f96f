import type { Service } from '../service.ts'

/**
 * Waits for a reload of the catalog in memory after a commit. If it fails, the response must not deny the write: the
 * signal of the catalog's change leads to further attempts.
 */
export const catalogAfterWrite = ({ log }: Pick<Service, 'log'>, reload: Promise<void>) =>
  reload.catch((err) => log.warn({ err }, 'cannot reload the catalog after a write'))
