import sharp, { type Metadata } from 'sharp'
import { limitConcurrency } from '../queue/limit-concurrency.ts'
import { PhotoError } from './photo.ts'

/** A seller's picture as two JPEGs: upright, in sRGB, without metadata. */
export type Picture = { photo: Buffer; thumbnail: Buffer }

const PHOTO_PIXELS = 2000
const THUMBNAIL_PIXELS = 400
const MAX_PIXELS = 50_000_000
/** The AVIF decoder needs 19 bytes per pixel, several times more than the others. This limit corresponds to 300 MB. */
const MAX_AVIF_PIXELS = 16_000_000
/** Maximum of a picture whose rows don't come in order. */
const MAX_WHOLE_BYTES = 300_000_000
const PROCESSING_SECONDS = 20

const ACCEPTED = 'a JPEG, PNG, WebP, GIF or AVIF picture'

// Decoders are the attack surface for hostile files: those that no photo needs (SVG, PDF, TIFF, …) are blocked.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadWebpBuffer',
    'VipsForeignLoadNsgifBuffer',
    'VipsForeignLoadHeifBuffer', // only AVIF in this build
  ],
})
// One thread per picture. Caching is useless, because every picture is different.
sharp.concurrency(1)
sharp.cache(false)

/**
 * Encodes the photo and its thumbnail: at most 2000 and 400 pixels on the longer side, never enlarged. The format is
 * detected from the content. An animation becomes its first frame.
 *
 * @throws PhotoError
 */
export function pictureFrom(bytes: Uint8Array): Promise<Picture> {
  return oneAtATime(async () => {
    try {
      const image = sharp(bytes, { failOn: 'error', limitInputPixels: MAX_PIXELS, pages: 1 })
      const metadata = await image.metadata()
      const { format, width, height } = metadata
      if (format === 'heif' && width * height > MAX_AVIF_PIXELS) throw new Error('AVIF pixel limit')
      if (wholeBytes(metadata) > MAX_WHOLE_BYTES) throw new Error('memory limit')
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
      throw new PhotoError(reasonFrom(error as Error), { isPermanent: true, cause: error })
    }
  })
}

/**
 * Memory of the decoder for a picture whose rows don't come in order: the samples of an interlaced PNG, or the coefficients
 * of a JPEG with several scans, which take two bytes each. Others are decoded and reduced row by row.
 */
function wholeBytes({ isProgressive, format, width, height, channels, depth }: Metadata): number {
  if (!isProgressive) return 0
  return width * height * channels * (format === 'jpeg' || depth === 'ushort' ? 2 : 1)
}

const WITHIN = { fit: 'inside', withoutEnlargement: true } as const

function reasonFrom({ message }: Error): string {
  if (message.includes('unsupported image format')) return `The file is not ${ACCEPTED}.`
  if (message === 'AVIF pixel limit') return 'An AVIF picture may have 16 million pixels at most.'
  if (message.includes('pixel limit')) return 'The picture has more than 50 million pixels.'
  if (message === 'memory limit') {
    return 'Decoding the picture needs too much memory. Save it smaller, or neither progressive nor interlaced.'
  }
  if (message.includes('timeout')) return 'Decoding the picture takes too long.'
  return `The file is damaged, or not ${ACCEPTED}.`
}

/**
 * A large picture needs 300 MB for a moment, and one of the few threads that the whole process uses for files and DNS,
 * so only one is processed at a time.
 */
const oneAtATime = limitConcurrency(1)
