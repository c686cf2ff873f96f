import { randomBytes } from 'node:crypto'
import type { LabelStatus } from '../enums.ts'

/** What a seller is told of a slice's label (§4.13). */
export type Label = {
  status: LabelStatus
  labelUrl: string | null
  expiresAt: Date | null
  /** For people. */
  message: string | null
  trackingCode: string | null
  trackingUrl: string | null
  /** The carrier platform. */
  provider: string | null
  /** Rows that the shipment covered when it was bought. */
  shippedLines: number
}

/** A name for a label's file: 22 characters that nobody can guess. */
export const newLabelName = () => randomBytes(16).toString('base64url')

/** What is asked for at `/labels`; nothing else is ever looked for in the storage. */
export const LABEL_FILE = /^[\w-]{22}\.pdf$/

/** Where a label's file is in the storage, which other things live in, too. */
export const placeOf = (file: string) => `labels/${file}`
