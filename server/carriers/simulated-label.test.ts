import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { inflateSync } from 'node:zlib'
import { PDFDocument, PDFRawStream } from '@pdfme/pdf-lib'
import { describe, expect, it } from 'vitest'
import { ADDRESS, BUYER } from '../test/fixtures/orders.ts'
import { newDirectory } from '../test/new-directory.ts'
import type { Parcel } from './carrier.ts'
import { printLabel } from './simulated-label.ts'

const PARCEL: Parcel = {
  reference: 'cs-reference-of-tests',
  sliceKey: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
  shippingCode: 'parcel',
  sender: 'Kanto Cards',
  recipient: { ...ADDRESS, email: BUYER.email },
}

const print = (more: Partial<Parcel> = {}, recipient: object = {}) =>
  printLabel({
    parcel: { ...PARCEL, ...more, recipient: { ...PARCEL.recipient, ...recipient } },
    trackingCode: 'SIM0000000042',
    createdAt: new Date('2026-03-01T09:30:00Z'),
  })

/** The lines of text in a PDF, read from its drawing operators. */
async function linesOf(pdf: Uint8Array): Promise<string[]> {
  const document = await PDFDocument.load(pdf)
  const drawn = document.context
    .enumerateIndirectObjects()
    .map(([, object]) => object)
    .filter((object) => object instanceof PDFRawStream)
    .map((stream) => {
      try {
        return inflateSync(stream.contents).toString('latin1')
      } catch {
        return ''
      }
    })
    .join('\n')
  return [...drawn.matchAll(/<([0-9A-F]*)> Tj/g)].map(([, hex]) =>
    new TextDecoder('windows-1252').decode(Buffer.from(hex!, 'hex')),
  )
}

describe('the label of the simulated carrier', () => {
  it('a label is one A6 page', async () => {
    const pages = (await PDFDocument.load(await print())).getPages()
    expect(pages).toHaveLength(1)
    const { width, height } = pages[0]!.getSize()
    expect(width / (72 / 25.4)).toBeCloseTo(105)
    expect(height / (72 / 25.4)).toBeCloseTo(148)
  })

  it('a label shows the recipient, the sender, the order, our reference and the tracking code', async () => {
    expect(await linesOf(await print())).toEqual([
      'SIMULATED CARRIER: NOT FOR SHIPPING',
      'From',
      'Kanto Cards',
      'To',
      'Misty Waterflower',
      'Cape Road 25 B',
      '1234 AB Cerulean City',
      'NL',
      '+31 20 123 45 67',
      'Order',
      'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
      'Reference',
      'cs-reference-of-tests',
      'SIM0000000042',
    ])
  })

  it.each([
    ['Zoë Müller-Übermaß €', 'Zoë Müller-Übermaß €'],
    ['Łukasz Żółć', 'Lukasz Zólc'],
    ['Đặng Nguyễn', 'Dang Nguyen'],
    ['サトシ', '???'],
    ['Ash 🔥\n\tKetchum', 'Ash ???Ketchum'],
  ])('%s is printed with the characters that the font has', async (name, printed) => {
    expect(await linesOf(await print({}, { full_name: name }))).toContain(printed)
  })

  it('the longest names and addresses are printed in full', async () => {
    const long = 'W'.repeat(200)
    const lines = await linesOf(
      await print(
        { sender: long },
        { full_name: long, street: long, city: long, zip: '1'.repeat(20) },
      ),
    )
    expect(lines.filter((line) => line.startsWith(long))).toHaveLength(3)
  })

  const tools = ['pdftoppm', 'zbarimg'].every(
    (tool) => spawnSync(tool, ['--version']).error === undefined,
  )
  if (!tools) console.warn('SKIPPED: scanning a label’s barcode needs pdftoppm and zbarimg.')

  it.skipIf(!tools)('a scanner reads the barcode: Code 128 of the tracking code', async () => {
    const directory = await newDirectory()
    writeFileSync(path.join(directory, 'label.pdf'), await print())
    // The resolution of a common label printer.
    execFileSync('pdftoppm', ['-r', '203', '-png', '-singlefile', 'label.pdf', 'label'], {
      cwd: directory,
    })
    const read = execFileSync('zbarimg', ['--quiet', 'label.png'], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    expect(read.toString().trim()).toBe('CODE-128:SIM0000000042')
  })
})
