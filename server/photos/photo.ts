/** Where a photo stands: on its way, attached to its listing, or given up. */
export const PHOTO_STATUSES = ['waiting', 'stored', 'failed'] as const
export type PhotoStatus = (typeof PHOTO_STATUSES)[number]

/** An entry of `photo_urls` and what has become of it. */
export type Photo = {
  /** As the seller sent it. */
  url: string
  status: PhotoStatus
  /** Tries begun so far, the one under way included. */
  attempts: number
  /** null once it's stored or failed. */
  nextAttemptAt: Date | null
  /** Why the last try failed, in a sentence for the operator. */
  error: string | null
  /** What its files are called; null until it's stored. */
  name: string | null
}

/** Tries in all. */
export const MAX_ATTEMPTS = 3

const MINUTES = 60 * 1000

/** How long after a failed try the next one follows. */
const DELAYS_MS = [1 * MINUTES, 10 * MINUTES]

/** Milliseconds from a failed try to the next one, or undefined when there is none. */
export const delayAfter = (attempts: number): number | undefined => DELAYS_MS[attempts - 1]

/** Why a picture couldn't be had. The message is a sentence of ours that the operator reads. */
export class PhotoError extends Error {
  override name = 'PhotoError'
  /** Whether another try would end the same. */
  readonly final: boolean

  constructor(message: string, options: { final: boolean; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.final = options.final
  }
}

/** The address of a stored photo. */
export const photoUrl = (publicUrl: string, name: string) =>
  `${publicUrl}/photos/${photoFile(name)}`

/** The address of a stored photo's thumbnail: what a listing's `photos` holds (§2.6). */
export const thumbnailUrl = (publicUrl: string, name: string) =>
  `${publicUrl}/photos/${thumbnailFile(name)}`

/** What the files of a photo are called, in addresses and in the storage. */
export const photoFile = (name: string) => `${name}.jpg`
export const thumbnailFile = (name: string) => `${name}-thumb.jpg`

/** Of either; nothing else is ever looked for in the storage. */
export const PHOTO_FILE = /^[\w-]{22}(-thumb)?\.jpg$/

/** Where the file is in the storage, which other things live in, too. */
export const placeOf = (file: string) => `photos/${file}`
