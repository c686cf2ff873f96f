import bwip from 'bwip-js/node'
import { PDFDocument, type PDFFont, type PDFPage, rgb, StandardFonts } from 'pdf-lib'
import type { Parcel } from './carrier.ts'

/** A6 in points. */
const MM = 72 / 25.4
const WIDTH = 105 * MM
const HEIGHT = 148 * MM
const MARGIN = 8 * MM
const BARCODE_HEIGHT = 24 * MM
/** Without white beside it no scanner finds the beginning of a barcode. */
const QUIET_MODULES = 10

const BLACK = rgb(0, 0, 0)
const GREY = rgb(0.4, 0.4, 0.4)

/** A label as carriers print them: where it goes, who sends it, and the tracking code as a barcode (Code 128). */
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

/** Writes line under line; one that's too long gets smaller. */
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

/** The bars as they are, not a picture of them: sharp at any size. */
function drawBarcode(page: PDFPage, text: string): void {
  const [code] = bwip.raw({ bcid: 'code128', text }) as unknown as [{ sbs: number[] }]
  const modules = code.sbs.reduce((sum, width) => sum + width, 0)
  const unit = (WIDTH - 2 * MARGIN) / (modules + 2 * QUIET_MODULES)
  let x = MARGIN + QUIET_MODULES * unit
  for (const [index, width] of code.sbs.entries()) {
    // Bars and spaces take turns.
    if (index % 2 === 0) {
      page.drawRectangle({
        x,
        y: MARGIN + 7 * MM,
        width: width * unit,
        height: BARCODE_HEIGHT,
        color: BLACK,
      })
    }
    x += width * unit
  }
}

/** Letters that don't fall into a letter and an accent. */
const LETTERS: Record<string, string> = {
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ħ: 'h',
  Ħ: 'H',
  ı: 'i',
  ŋ: 'n',
  ŧ: 't',
}

/** What the fonts every PDF reader has can show of a text: without accents where need be, ? for the rest. */
function printable(text: string, font: PDFFont): string {
  const known = new Set(font.getCharacterSet())
  const shown = (character: string) => known.has(character.codePointAt(0)!)
  return Array.from(text.normalize('NFC'), (character) => {
    if (shown(character)) return character
    const plain = LETTERS[character] ?? character.normalize('NFKD').replace(/\p{M}/gu, '')
    return Array.from(plain, (part) => (shown(part) ? part : '?')).join('') || '?'
  }).join('')
}
