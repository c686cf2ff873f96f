import sharp from 'sharp'

/** Pictures made for tests. */
export const BLUE = { r: 20, g: 40, b: 200 }

/** A plain picture of this size. */
export const plain = (width = 60, height = 40) =>
  sharp({ create: { width, height, channels: 3, background: BLUE } })

export const jpeg = (width?: number, height?: number) => plain(width, height).jpeg().toBuffer()

/** Nothing that compresses: about three bytes for each pixel as PNG. */
export const noise = (width: number, height: number) =>
  sharp({
    create: {
      width,
      height,
      channels: 3,
      background: BLUE,
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })
