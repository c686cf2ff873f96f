import { PDFDocument, type PDFFont, type PDFPage, rgb, StandardFonts } from '@pdfme/pdf-lib'
import JsBarcode from 'jsbarcode'
import { plainLetters } from '../text/plain-letters.ts'
import type { Parcel } from './carrier.ts'

/** In points, the unit of PDF. */
const MM = 72 / 25.4
/** A6. */
const WIDTH = 105 * MM
const HEIGHT = 148 * MM
const MARGIN = 8 * MM
const BARCODE_HEIGHT = 24 * MM
/** Blank modules on both sides of the barcode: scanners need this quiet zone. */
const QUIET_MODULES = 10

const BLACK = rgb(0, 0, 0)
const GREY = rgb(0.4, 0.4, 0.4)

/** Prints an A6 label with the addresses, the order, and the tracking code as a Code 128 barcode. */
export async function printLabel({
  parcel,
  trackingCode,
  createdAt,
}: {
  parcel: Parcel
  trackingCode: string
  createdAt: Date
}): Promise<Uint8Array> {
  const pdf = await PDFDocument.create()
  pdf.setTitle(`Label ${trackingCode}`)
  pdf.setCreationDate(createdAt)
  pdf.setModificationDate(createdAt)
  const page = pdf.addPage([WIDTH, HEIGHT])
  const fonts = {
    plain: await pdf.embedFont(StandardFonts.Helvetica),
    bold: await pdf.embedFont(StandardFonts.HelveticaBold),
  }
  const { recipient, sender, sliceKey, reference } = parcel
  const write = writer(page, HEIGHT - MARGIN)
  write('SIMULATED CARRIER: NOT FOR SHIPPING', fonts.plain, 8, GREY)
  write('From', fonts.plain, 8, GREY)
  write(sender, fonts.plain, 10)
  write('To', fonts.plain, 8, GREY)
  for (const line of addressLines(recipient)) write(line, fonts.bold, 13)
  write('Order', fonts.plain, 8, GREY)
  write(sliceKey, fonts.plain, 8)
  write('Reference', fonts.plain, 8, GREY)
  write(reference, fonts.plain, 8)
  drawBarcode(page, trackingCode)
  page.drawText(trackingCode, { x: MARGIN, y: MARGIN, size: 12, font: fonts.bold })
  return pdf.save()
}

const addressLines = (to: Parcel['recipient']) =>
  [
    to.full_name,
    `${to.street} ${to.house_number}${to.house_number_suffix ? ` ${to.house_number_suffix}` : ''}`,
    `${to.zip} ${to.city}`,
    to.country.toUpperCase(),
    to.phone ?? '',
  ].filter(Boolean)

/** Returns a function that writes one line below the other. A line that is too wide is printed smaller. */
function writer(page: PDFPage, top: number) {
  let y = top
  return (text: string, font: PDFFont, size: number, color = BLACK) => {
    const line = printable(text, font)
    const width = WIDTH - 2 * MARGIN
    const fitting = Math.min(size, (size * width) / Math.max(font.widthOfTextAtSize(line, size), 1))
    y -= size * 1.35
    page.drawText(line, { x: MARGIN, y, size: fitting, font, color })
  }
}

/** Draws the bars as vector rectangles, sharp at any resolution. */
function drawBarcode(page: PDFPage, text: string): void {
  // If the library gets an object instead of an element, it writes the modules to it: 1 is black, 0 is white.
  const drawn: { encodings?: { data: string }[] } = {}
  JsBarcode(drawn, text, { format: 'CODE128' })
  const modules = drawn.encodings!.map(({ data }) => data).join('')
  const unit = (WIDTH - 2 * MARGIN) / (modules.length + 2 * QUIET_MODULES)
  for (const { index, 0: bar } of modules.matchAll(/1+/g)) {
    page.drawRectangle({
      x: MARGIN + (QUIET_MODULES + index) * unit,
      y: MARGIN + 7 * MM,
      width: bar.length * unit,
      height: BARCODE_HEIGHT,
      color: BLACK,
    })
  }
}

/** Replaces characters that the PDF's standard font lacks: by their base letter if they have one, otherwise by `?`. */
function printable(text: string, font: PDFFont): string {
  const supported = new Set(font.getCharacterSet())
  const isPrintable = (character: string) => supported.has(character.codePointAt(0)!)
  return Array.from(text.normalize('NFC'), (character) => {
    if (isPrintable(character)) return character
    return (
      Array.from(plainLetters(character), (part) => (isPrintable(part) ? part : '?')).join('') ||
      '?'
    )
  }).join('')
}
