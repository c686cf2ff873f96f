import type { LabelStatus } from '../enums.ts'
import type { Address } from '../orders/address.ts'

/** Who sells platform labels and takes the parcels. No call of it belongs into a database transaction. */
export type Carrier = {
  /** What it's called in answers and in the database. */
  provider: string
  /**
   * Buys a shipment under our reference.
   *
   * @throws CarrierError
   */
  buy(parcel: Parcel): Promise<CarrierShipment>
  /** The shipment that was bought under our reference, if there is one. @throws CarrierError */
  find(reference: string): Promise<CarrierShipment | undefined>
  /**
   * The shipment as it is now. Where the label could not be had at the purchase this is another try at it.
   *
   * @throws CarrierError
   */
  read(id: string): Promise<CarrierShipment>
  /** The label of a shipment that is `ready`, as a PDF. @throws CarrierError */
  label(id: string): Promise<Uint8Array>
}

/** What goes from a seller to a buyer. */
export type Parcel = {
  /** Ours, that nobody can guess. The carrier keeps it with the shipment. */
  reference: string
  /** For people: what sellers call the order by. */
  sliceKey: string
  /** The seller's shipping option. */
  shippingCode: string
  sender: string
  recipient: Address & { email: string }
}

/** What the carrier says of a shipment. */
export type CarrierShipment = {
  /** The carrier's own. */
  id: string
  status: Exclude<LabelStatus, 'self_ship'>
  /** For the seller, in words of ours. */
  message: string | null
  trackingCode: string | null
  trackingUrl: string | null
  trackingStatus: string | null
}

/** The carrier could not be asked, or refused. The `reason` goes to the log: our words, with the carrier’s status and code. */
export class CarrierError extends Error {
  override name = 'CarrierError'
  /**
   * `refused`: what was asked for has not happened. `unknown`: it may have, so it must be looked up before it's asked
   * for again.
   */
  readonly outcome: 'refused' | 'unknown'

  constructor(outcome: 'refused' | 'unknown', reason: string, cause?: unknown) {
    super(reason, { cause })
    this.outcome = outcome
  }
}

/** Said to the seller where a shipment exists and its label can't be had (§3.3). */
export const ACTION_REQUIRED =
  'The shipment exists, but the carrier does not hand out its label, most likely because of the balance or the payment method of the carrier account. Mend that, then call again.'
