import { randomBytes } from 'node:crypto'
import type { LabelStatus } from '../enums.ts'

/** A slice's label, as its seller sees it (§4.13). */
export type Label = {
  status: LabelStatus
  labelUrl: string | null
  expiresAt: Date | null
  /** A sentence for the seller about the state of the label. */
  message: string | null
  trackingCode: string | null
  trackingUrl: string | null
  /** The carrier platform. */
  provider: string | null
  /** Number of rows that the shipment covered when it was bought. */
  shippedLines: number
}

/** An unguessable base name for a label's file. */
export const newLabelName = () => randomBytes(16).toString('base64url')

/** Matches the file names of labels. Requests for other names never reach the storage. */
export const LABEL_FILE = /^[\w-]{22}\.pdf$/

/** The file's path in the storage. */
export const labelPath = (file: string) => `labels/${file}`
