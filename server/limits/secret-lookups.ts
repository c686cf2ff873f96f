import type { Signals, Topic } from '../database/signals.ts'
import { memoryCounters, WINDOW_SECONDS } from './counters.ts'

/**
 * Lookups of secrets by their hash: API keys, access tokens, staff tokens. A client that guesses causes no queries
 * after its first few hundred wrong secrets in a minute: after those, only a secret whose hash shares a prefix with an
 * existing one is looked up, which guessing doesn't find. One query reads all prefixes, but only at that point, because
 * until then a secret that another process has just created must work at once.
 */
export type SecretLookups = {
  /**
   * Reads the owner of a secret; null if no secret has this hash.
   *
   * @param from the subject for which wrong secrets are counted
   */
  lookUp<T>(
    hashed: Buffer,
    from: string,
    read: (hashed: Buffer) => Promise<T | null>,
  ): Promise<T | null>
  /** Forgets the prefixes, because there may be more. */
  drop(): void
}

/** Wrong secrets per minute and subject that are looked up in the database. */
const MAX_MISSES = 600

/** Bytes of a hash that the prefixes have. */
export const PREFIX_BYTES = 8

/**
 * @param created the topic that is signalled with every new secret
 * @param readPrefixes reads the prefixes of all hashes in their order, in one piece
 */
export function secretLookups(
  signals: Pick<Signals, 'on' | 'connected'>,
  created: Topic,
  readPrefixes: () => Promise<{ sorted: Buffer | null }[]>,
): SecretLookups {
  const misses = memoryCounters()
  let prefixes: Promise<Buffer> | undefined
  const drop = () => {
    prefixes = undefined
  }
  signals.on(created, drop)

  const mayExist = async (hashed: Buffer): Promise<boolean> => {
    prefixes ??= readPrefixes().then(([row]) => row?.sorted ?? Buffer.alloc(0))
    const reading = prefixes
    try {
      return includes(await reading, hashed)
    } catch (error) {
      if (prefixes === reading) prefixes = undefined
      throw error
    }
  }

  return {
    async lookUp(hashed, from, read) {
      // While signals may be missed, the prefixes may be outdated.
      if (!signals.connected) return read(hashed)
      const window = currentWindow()
      // Counted before the response, because many lookups may run at the same time.
      if (misses.hit(from, window) > MAX_MISSES && !(await mayExist(hashed))) return null
      const found = await read(hashed)
      if (found !== null && window === currentWindow()) {
        misses.hit(from, window, WINDOW_SECONDS, -1)
      }
      return found
    },
    drop,
  }
}

const currentWindow = () => Math.floor(performance.now() / 1000 / WINDOW_SECONDS)

function includes(sorted: Buffer, hashed: Buffer): boolean {
  const wanted = hashed.subarray(0, PREFIX_BYTES)
  let [low, high] = [0, sorted.length / PREFIX_BYTES]
  while (low < high) {
    const middle = (low + high) >>> 1
    const at = middle * PREFIX_BYTES
    const order = wanted.compare(sorted, at, at + PREFIX_BYTES)
    if (order === 0) return true
    if (order < 0) high = middle
    else low = middle + 1
  }
  return false
}
