import { readFile } from 'node:fs/promises'
import * as enums from '../../enums.ts'
import { SCOPES } from '../../keys/scopes.ts'
import { lazy } from '../lazy.ts'
import type { Document } from './tool-server.ts'

const guide = (name: string, title: string, description: string): Document => ({
  uri: `cardstall://docs/${name}`,
  name,
  title,
  description,
  mimeType: 'text/markdown',
  read: lazy(() => readFile(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8')),
})

/** Every value of an enumeration (§2.9), by the name of its field. */
const values = JSON.stringify(
  {
    language: enums.LANGUAGES,
    condition: enums.CONDITIONS,
    printing: enums.PRINTINGS,
    grading_company: enums.GRADING_COMPANIES,
    grading_grade: enums.GRADES,
    product_category: enums.PRODUCT_CATEGORIES,
    listing_status: enums.LISTING_STATUSES,
    order_status: enums.ORDER_STATUSES,
    cancelled_by: enums.CANCELLERS,
    label_status: enums.LABEL_STATUSES,
    seller_tier: enums.SELLER_TIERS,
    fulfilment: enums.FULFILMENTS,
    paid_to: enums.SHIPPING_RECEIVERS,
    webhook_event: enums.WEBHOOK_EVENTS,
    scope: SCOPES,
  },
  null,
  2,
)

/** Documents that a model may read to use the seller's tools better. */
export const documents: Document[] = [
  guide('orders', 'Orders', 'The states of an order, shipping and money'),
  guide('labels', 'Labels', 'How labels are bought, and every status of one'),
  guide('errors', 'Errors', 'Every error, and what to do about it'),
  guide('sync', 'Sync', 'How to keep a copy of the listings and miss no change'),
  {
    uri: 'cardstall://values',
    name: 'values',
    title: 'Values',
    description: 'Every value of condition, language, printing, grade, status and so on',
    mimeType: 'application/json',
    read: () => values,
  },
]
