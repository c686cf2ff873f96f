import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import type { PackedRow, Packing, PackingSlip, PickLine } from '../orders/packing.ts'
import type { Address } from '../text/address.ts'
import { formatLongDateIn, groupDigits } from '../text/formats.ts'
import { type Html, html } from './html.ts'
import { sendPage } from './page.ts'
import { OneOf } from './schema.ts'

/** The print page of a pick list and packing slips: without scripts, one parcel on a sheet of A4 or A6. */

const PAPERS = ['a4', 'a6'] as const
const DOCUMENTS = ['all', 'pick_list', 'slips'] as const

export const packingParameters = {
  paper: Type.Optional(OneOf(PAPERS, { default: 'a4', description: 'Paper of the print page' })),
  document: Type.Optional(
    OneOf(DOCUMENTS, { default: 'all', description: 'Documents of the print page' }),
  ),
}

type Print = {
  /** Number of parcels before those of the page. */
  offset: number
  /** Number of all parcels. */
  total: number
  paper?: (typeof PAPERS)[number] | undefined
  document?: (typeof DOCUMENTS)[number] | undefined
}

const STYLES = readFileSync(new URL('packing.css', import.meta.url), 'utf8')
/** A6 has a quarter of the space. CSS has no name for it, and Chromium ignores a size with an unknown name. */
const PAPER_STYLES = {
  a4: '@page{size:A4}',
  a6: '@page{size:105mm 148mm;margin:6mm}body{max-width:93mm;font-size:8pt}',
}
const stylesOf = (paper: (typeof PAPERS)[number]) => STYLES + PAPER_STYLES[paper]
const HASHES = PAPERS.map((paper) => `'sha256-${hash('sha256', stylesOf(paper), 'base64')}'`)

/** Sends the print page. It shows addresses, so the caller forbids caching. */
export const sendPackingPage = (
  reply: FastifyReply,
  packing: Packing,
  { paper = 'a4', document = 'all', offset, total }: Print,
) =>
  sendPage(
    reply.header('vary', 'Accept'),
    `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${document === 'pick_list' ? 'Pick list' : 'Packing slips'}</title>
    <link rel="icon" href="data:,">
    <style>${stylesOf(paper)}</style>
  </head>
  <body>
    <main>
${content(packing, document, partOf(packing.slips.length, offset, total)).text}
    </main>
  </body>
</html>
`,
    { 'style-src': HASHES.join(' ') },
  )

/** The part of the parcels that the page has, unless it has all. */
function partOf(parcels: number, offset: number, total: number): string | undefined {
  if (parcels === total) return undefined
  const all = groupDigits(total)
  return offset === 0
    ? `The first ${groupDigits(parcels)} of ${all} parcels, oldest first`
    : `Parcels ${groupDigits(offset + 1)}–${groupDigits(offset + parcels)} of ${all}, oldest first`
}

function content(
  packing: Packing,
  document: (typeof DOCUMENTS)[number],
  part: string | undefined,
): Html {
  const { shopName, timeZone, slips } = packing
  if (slips.length === 0) return html`<p>There is nothing to pack.</p>`
  const dateOf = formatLongDateIn(timeZone)
  return html`${part && document === 'slips' && html`<p class="note">${part}</p>`}${document !== 'slips' && pickList(packing, part)}${document !== 'pick_list' && slips.map((slip) => packingSlip(slip, shopName, dateOf))}`
}

const pickList = ({ pickList, slips }: Packing, part: string | undefined) => html`<section>
<h1>Pick list</h1>
<p>${part ?? counted(slips.length, 'parcel')}, ${counted(unitsOf(pickList), 'item')}</p>
<table>
<thead><tr><td></td><th class="number">Units</th><th>Item</th><th class="reference">Reference</th><th>Orders</th></tr></thead>
<tbody>
${pickList.map((line) => html`<tr><td class="check"></td><td class="number">${line.units}</td><td>${itemOf(line)}</td><td>${line.reference}</td><td>${line.orderIds.join(', ')}</td></tr>`)}
</tbody>
</table>
</section>`

const counted = (number: number, noun: string) =>
  `${groupDigits(number)} ${noun}${number === 1 ? '' : 's'}`

const unitsOf = (lines: PickLine[]) => lines.reduce((sum, { units }) => sum + units, 0)

/** The head of the table stands on each sheet of a parcel with many rows, so it names the parcel. */
const packingSlip = (
  { sliceKey, createdAt, buyer, shipping, orders }: PackingSlip,
  shopName: string,
  dateOf: (moment: Date) => string,
) => html`<section>
<header><h1>${shopName}</h1><p>Order ${orders.map(({ id }) => id).join(', ')}<small>${dateOf(createdAt)}</small></p></header>
${addressOf(buyer.address, buyer.name)}
<p>Ships with: ${shipping.method}</p>
<table>
<thead><tr><th class="parcel" colspan="4">${sliceKey} · ${buyer.name}</th></tr><tr><td></td><th class="number">Units</th><th>Item</th><th class="reference">Reference</th></tr></thead>
<tbody>
${orders.map((row) => html`<tr><td class="check"></td><td class="number">${row.quantity}</td><td>${itemOf(row)}</td><td>${row.reference}</td></tr>`)}
</tbody>
</table>
</section>`

const itemOf = ({ item }: PickLine | PackedRow) =>
  html`${item.name ?? 'Item'}<small>${[item.subtitle, item.condition, item.language].filter(Boolean).join(' · ')}</small>`

function addressOf(address: Address | null, buyerName: string): Html {
  if (!address) return html`<p>${buyerName}, without a delivery address</p>`
  const { full_name, street, house_number, house_number_suffix, zip, city, country } = address
  return html`<address>${full_name}<br>${street} ${house_number} ${house_number_suffix}<br>${zip} ${city}<br>${country.toUpperCase()}</address>`
}
