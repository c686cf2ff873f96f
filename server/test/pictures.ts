import sharp from 'sharp'

export const BLUE = { r: 20, g: 40, b: 200 }

/** A picture of one colour. */
export const plain = (width = 60, height = 40) =>
  sharp({ create: { width, height, channels: 3, background: BLUE } })

export const jpeg = (width?: number, height?: number) => plain(width, height).jpeg().toBuffer()

/** A picture that does not compress: about three bytes per pixel as PNG. */
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
