import { MINUTES } from '../time/units.ts'

/** `stored`: attached to its listing. `failed`: permanently. */
export const PHOTO_STATUSES = ['waiting', 'stored', 'failed'] as const
type PhotoStatus = (typeof PHOTO_STATUSES)[number]

/** An entry of a listing's `photo_urls`. */
export type Photo = {
  /** As the seller sent it. */
  url: string
  status: PhotoStatus
  /** Attempts so far, including a running one. */
  attempts: number
  /** null unless `waiting`. */
  nextAttemptAt: Date | null
  /** Why the last attempt failed, for the operator. */
  error: string | null
  /** The base name of its files; null until it is stored. */
  name: string | null
}

export const MAX_ATTEMPTS = 3

/** Backoff: the delay after the first failed attempt and the second. */
const DELAYS_MS = [1 * MINUTES, 10 * MINUTES]

/** Each attempt fetches the whole file again: more often would burden the seller's server. */
export const POSTPONED_MS = 10 * MINUTES

/** Milliseconds from a failed attempt to the next; undefined after the last. `attempts` includes the failed one. */
export const delayAfter = (attempts: number): number | undefined => DELAYS_MS[attempts - 1]

/** A failed attempt at a photo. The operator reads the message. */
export class PhotoError extends Error {
  override name = 'PhotoError'
  /** Whether every further attempt would fail. */
  readonly isPermanent: boolean

  constructor(message: string, options: { isPermanent: boolean; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.isPermanent = options.isPermanent
  }
}

/** The URL of a stored photo. `base` is PUBLIC_URL, or the relative address of the service from a page. */
export const photoUrl = (base: string, name: string) => `${base}/photos/${photoFile(name)}`

/** A listing's `photos` contains the URLs of thumbnails (§2.6). */
export const thumbnailUrl = (base: string, name: string) => `${base}/photos/${thumbnailFile(name)}`

/** The names of a photo's files in the storage. */
export const photoFile = (name: string) => `${name}.jpg`
export const thumbnailFile = (name: string) => `${name}-thumb.jpg`

/** Matches the file names of photos and thumbnails. Requests for other names never reach the storage. */
export const PHOTO_FILE = /^[\w-]{22}(-thumb)?\.jpg$/

/** The file's path in the storage. */
export const photoPath = (file: string) => `photos/${file}`
