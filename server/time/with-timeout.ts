/**
 * The result of `work`, or of `onTimeout` after `ms` milliseconds of real time. `work` is not cancelled then. A plain timer,
 * because aborting one of `node:timers/promises` makes an error each time.
 */
export function withTimeout<T>(ms: number, work: Promise<T>, onTimeout: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        resolve(onTimeout())
      } catch (error) {
        reject(error)
      }
    }, ms)
    void work.then(resolve, reject).then(() => clearTimeout(timer))
  })
}
