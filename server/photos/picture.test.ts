import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { BLUE, jpeg, noise, plain } from '../test/pictures.ts'
import { PhotoError } from './photo.ts'
import { pictureFrom } from './picture.ts'

const NOT_A_PICTURE = 'The file is not a JPEG, PNG, WebP, GIF or AVIF picture.'
const DAMAGED = 'The file is damaged, or not a JPEG, PNG, WebP, GIF or AVIF picture.'

const sizesOf = async (bytes: Uint8Array) => {
  const { photo, thumbnail } = await pictureFrom(bytes)
  return Promise.all(
    [photo, thumbnail].map(async (file) => {
      const { format, width, height } = await sharp(file).metadata()
      return `${format} ${width}x${height}`
    }),
  )
}

/** The colour of a pixel in steps of 32, because JPEG is lossy. */
async function colourAt(file: Buffer, left: number, top: number): Promise<number[]> {
  const { data } = await sharp(file)
    .extract({ left, top, width: 1, height: 1 })
    .raw()
    .toBuffer({ resolveWithObject: true })
  return [...data].map((value) => Math.round(value / 32))
}

describe('a picture', () => {
  it.each(['jpeg', 'png', 'webp', 'gif', 'avif'] as const)(
    'a picture in %s becomes a JPEG with a thumbnail',
    async (format) => {
      const bytes = await plain(60, 40).toFormat(format).toBuffer()
      expect(await sizesOf(bytes)).toEqual(['jpeg 60x40', 'jpeg 60x40'])
      const { photo } = await pictureFrom(bytes)
      expect(await colourAt(photo, 30, 20)).toEqual(
        [BLUE.r, BLUE.g, BLUE.b].map((value) => Math.round(value / 32)),
      )
    },
  )

  it('a picture is reduced to 2000 pixels on its longer side, its thumbnail to 400', async () => {
    expect(await sizesOf(await jpeg(3000, 1500))).toEqual(['jpeg 2000x1000', 'jpeg 400x200'])
    expect(await sizesOf(await jpeg(500, 2500))).toEqual(['jpeg 400x2000', 'jpeg 80x400'])
    expect(await sizesOf(await jpeg(600, 300))).toEqual(['jpeg 600x300', 'jpeg 400x200'])
  })

  it('location, camera, comments and colour profiles are removed', async () => {
    const bytes = await plain()
      .withExif({
        IFD0: { Make: 'Camera of Alice', Artist: 'Alice' },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 22/1 0/1' },
      })
      .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><a>Alice’s place</a></x:xmpmeta>')
      .withIccProfile('p3')
      .jpeg()
      .toBuffer()
    expect((await sharp(bytes).metadata()).exif).toBeDefined()
    const { photo, thumbnail } = await pictureFrom(bytes)
    for (const file of [photo, thumbnail]) {
      const { exif, xmp, iptc, icc, comments } = await sharp(file).metadata()
      expect({ exif, xmp, iptc, icc, comments }).toEqual({})
      expect(file.toString('latin1')).not.toContain('Alice')
    }
  })

  it('a picture is rotated by its orientation tag', async () => {
    // The left half is red. Orientation 6 means that the left side is the top.
    const red = { r: 255, g: 0, b: 0 }
    const bytes = await plain(60, 40)
      .composite([
        {
          input: { create: { width: 30, height: 40, channels: 3, background: red } },
          left: 0,
          top: 0,
        },
      ])
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer()
    expect(await sizesOf(bytes)).toEqual(['jpeg 40x60', 'jpeg 40x60'])
    const { photo } = await pictureFrom(bytes)
    expect(await colourAt(photo, 20, 10)).toEqual([8, 0, 0])
    expect(await colourAt(photo, 20, 50)).toEqual([1, 1, 6])
  })

  it('transparent pixels become white', async () => {
    const bytes = await sharp({
      create: { width: 20, height: 20, channels: 4, background: { ...BLUE, alpha: 0 } },
    })
      .png()
      .toBuffer()
    const { photo } = await pictureFrom(bytes)
    expect(await colourAt(photo, 10, 10)).toEqual([8, 8, 8])
  })

  it('an animation becomes its first frame', async () => {
    const white = { r: 255, g: 255, b: 255 }
    const frames = await Promise.all(
      [
        plain(20, 20),
        plain(20, 20).composite([
          { input: { create: { width: 20, height: 20, channels: 3, background: white } } },
        ]),
      ].map((frame) => frame.png().toBuffer()),
    )
    const bytes = await sharp(frames, { join: { animated: true } })
      .gif()
      .toBuffer()
    expect((await sharp(bytes, { animated: true }).metadata()).pages).toBe(2)
    expect(await sizesOf(bytes)).toEqual(['jpeg 20x20', 'jpeg 20x20'])
    expect(await colourAt((await pictureFrom(bytes)).photo, 10, 10)).toEqual([1, 1, 6])
  })
})

describe('a file that is not an accepted picture', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect/></svg>'
  it.each([
    ['a web page', '<!doctype html><title>Not found</title>'],
    ['an SVG drawing', svg],
    ['an SVG drawing with its declaration', `<?xml version="1.0"?>${svg}`],
    ['a PDF document', '%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj'],
    ['an empty file', ''],
  ])('a file that is not a picture is refused: %s', async (_, text) => {
    await expect(pictureFrom(Buffer.from(text))).rejects.toThrow(
      expect.objectContaining({
        name: 'PhotoError',
        isPermanent: true,
        message: expect.stringMatching(/^The file is/),
      }),
    )
  })

  it('a TIFF is refused, with the accepted formats as the reason', async () => {
    const tiff = await plain().tiff().toBuffer()
    await expect(pictureFrom(tiff)).rejects.toThrow(NOT_A_PICTURE)
  })

  it.each(['jpeg', 'png', 'webp', 'avif'] as const)(
    'a truncated picture is refused: %s',
    async (format) => {
      const bytes = await noise(200, 200).toFormat(format).toBuffer()
      const error = await pictureFrom(bytes.subarray(0, bytes.length / 2)).catch((error) => error)
      expect(error).toBeInstanceOf(PhotoError)
      expect(error).toMatchObject({ message: DAMAGED, isPermanent: true })
    },
  )

  it('a picture of more than 50 million pixels (AVIF: 16 million) is refused, however small the file', async () => {
    const bytes = await plain(10_000, 5_001).png().toBuffer()
    expect(bytes.length).toBeLessThan(1_000_000)
    await expect(pictureFrom(bytes)).rejects.toThrow(/more than 50 million pixels/)
    const avif = await plain(4001, 4000).avif({ effort: 0 }).toBuffer()
    await expect(pictureFrom(avif)).rejects.toThrow(/AVIF picture may have 16 million pixels/)
  })

  it('a picture that is decoded as a whole is refused if that takes more than 300 MB, one that is decoded by rows is not', async () => {
    const small = plain(8, 8).ensureAlpha()
    const png = await small.clone().toColourspace('rgb16').png({ progressive: true }).toBuffer()
    const jpeg = await small.clone().toColourspace('cmyk').jpeg({ progressive: true }).toBuffer()
    // Only the dimensions in the headers are large: IHDR with its checksum, and SOF2, which has the height first.
    png.writeUInt32BE(10_000, 16)
    png.writeUInt32BE(5_000, 20)
    png.writeUInt32BE(crc32(png.subarray(12, 29)), 29)
    const frame = jpeg.indexOf('ffc2', 'hex')
    jpeg.writeUInt16BE(5_000, frame + 5)
    jpeg.writeUInt16BE(10_000, frame + 7)
    for (const bytes of [png, jpeg]) {
      await expect(pictureFrom(bytes)).rejects.toThrow(/needs too much memory/)
    }
    expect(await sizesOf(await plain(10_000, 5_000).jpeg().toBuffer())).toEqual([
      'jpeg 2000x1000',
      'jpeg 400x200',
    ])
  })
})
