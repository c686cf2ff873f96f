import sharp from 'sharp'
import { PhotoError } from './photo.ts'

/** A seller's picture as it's kept: two JPEGs, upright, in sRGB, without anything that was in the file beside it. */
export type Picture = { photo: Buffer; thumbnail: Buffer }

const PHOTO_PIXELS = 2000
const THUMBNAIL_PIXELS = 400
const MAX_PIXELS = 50_000_000
/** Its decoder takes 19 bytes a pixel, several times what the others do: these are 300 MB. */
const MAX_AVIF_PIXELS = 16_000_000
const PROCESSING_SECONDS = 20

const ACCEPTED = 'a JPEG, PNG, WebP, GIF or AVIF picture'

// A decoder is where a hostile file bites: those that no photo needs (SVG, PDF, TIFF, …) are out of its reach.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadWebpBuffer',
    'VipsForeignLoadNsgifBuffer',
    'VipsForeignLoadHeifBuffer', // of which this build knows AVIF alone
  ],
})
// One thread a picture, and nothing remembered: no two are alike.
sharp.concurrency(1)
sharp.cache(false)

/**
 * Makes the photo and its thumbnail, at most 2000 and 400 pixels on the longer side and never enlarged. What counts
 * is the content, whatever the file was called; of an animation its first frame.
 *
 * @throws PhotoError when it isn't an accepted picture, is damaged, or has more than 50 million pixels (AVIF: 16 million)
 */
export function pictureFrom(bytes: Uint8Array): Promise<Picture> {
  return inTurn(async () => {
    try {
      const image = sharp(bytes, { failOn: 'error', limitInputPixels: MAX_PIXELS, pages: 1 })
      const { format, width, height } = await image.metadata()
      if (format === 'heif' && width * height > MAX_AVIF_PIXELS) throw new Error('AVIF pixel limit')
      const photo = await image
        .timeout({ seconds: PROCESSING_SECONDS })
        .autoOrient()
        .resize({ width: PHOTO_PIXELS, height: PHOTO_PIXELS, ...WITHIN })
        .flatten({ background: '#ffffff' })
        .jpeg({ quality: 85 })
        .toBuffer()
      const thumbnail = await sharp(photo)
        .resize({ width: THUMBNAIL_PIXELS, height: THUMBNAIL_PIXELS, ...WITHIN })
        .jpeg({ quality: 80 })
        .toBuffer()
      return { photo, thumbnail }
    } catch (error) {
      throw new PhotoError(reasonOf(error as Error), { final: true, cause: error })
    }
  })
}

const WITHIN = { fit: 'inside', withoutEnlargement: true } as const

function reasonOf({ message }: Error): string {
  if (message.includes('unsupported image format')) return `The file is not ${ACCEPTED}.`
  if (message === 'AVIF pixel limit') return 'An AVIF picture may have 16 million pixels at most.'
  if (message.includes('pixel limit')) return 'The picture has more than 50 million pixels.'
  if (message.includes('timeout')) return 'The picture takes too long to read.'
  return `The file is damaged, or not ${ACCEPTED}.`
}

let last: Promise<unknown> = Promise.resolve()

/**
 * One picture at a time: a large one takes 300 MB for a moment, and one of the few threads that the whole process
 * reads files and looks names up with.
 */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = last.then(work)
  last = turn.catch(() => {})
  return turn
}
