import type { BoughtLabelStatus } from '../enums.ts'
import type { Address } from '../text/address.ts'

/** A carrier platform that sells labels. Its methods are network calls: never call them inside a transaction. */
export type Carrier = {
  /** Its name in responses and in the database. */
  provider: string
  /** Buys a shipment under our reference. @throws CarrierError */
  buy(parcel: Parcel): Promise<CarrierShipment>
  /** Looks a shipment up by our reference; undefined if it was not bought. @throws CarrierError */
  find(reference: string): Promise<CarrierShipment | undefined>
  /**
   * Reads the shipment's current state.
   *
   * @param mayRequestLabel if the carrier withheld the label at the purchase, requests it again, which may cost money
   * @throws MissingShipmentError, CarrierError
   */
  read(id: string, options: { mayRequestLabel: boolean }): Promise<CarrierShipment>
  /** Downloads the label of a `ready` shipment, as a PDF. @throws CarrierError */
  label(id: string): Promise<Uint8Array>
}

export type Parcel = {
  /** Our unguessable reference. The carrier stores it with the shipment. */
  reference: string
  /** The order's key that the seller knows, printed on the label. */
  sliceKey: string
  /** The seller's shipping option. */
  shippingCode: string
  sender: string
  recipient: Address & { email: string }
}

/** A carrier's reading of a shipment. */
export type CarrierShipment = {
  /** The carrier's id. */
  id: string
  /** A label whose cancellation is `requested` is `processing`; if it is `confirmed`, the label is `action_required`. */
  status: BoughtLabelStatus
  /**
   * Shown to the seller unless the cancellation is confirmed: our own words, never the carrier's. A `processing` label has a
   * message only if its cancellation is requested.
   */
  message: string | null
  /** Whether the shipment is cancelled. The carrier can still refuse a requested cancellation. */
  cancellation: 'requested' | 'confirmed' | null
  trackingCode: string | null
  trackingUrl: string | null
  trackingStatus: string | null
}

/** Maximum lengths of a tracking, from a carrier or from the operator. */
export const MAX_TRACKING = { code: 100, url: 2048, status: 200 } as const

/** A failed call. The `reason` is for the log: our own words, with the carrier's status and code. */
export class CarrierError extends Error {
  override name = 'CarrierError'
  /**
   * `refused`: the call had no effect. `unknown`: it may have had one, so a purchase must be looked up before it is
   * repeated.
   */
  readonly outcome: 'refused' | 'unknown'

  constructor(outcome: 'refused' | 'unknown', reason: string, cause?: unknown) {
    super(reason, { cause })
    this.outcome = outcome
  }
}

/** The carrier does not have the shipment that was to be read. */
export class MissingShipmentError extends CarrierError {
  override name = 'MissingShipmentError'

  constructor(reason: string) {
    super('refused', reason)
  }
}

/** The seller's message when a shipment exists and its label is withheld (§3.3). */
export const ACTION_REQUIRED =
  'The shipment exists, but the carrier withholds its label, most likely because of the balance or the payment method of the marketplace’s carrier account. Ask the marketplace to resolve this, then request the label again.'

/** The seller's message while the carrier decides on a cancellation of the shipment. */
export const CANCELLATION_REQUESTED =
  'A cancellation of this shipment was requested, and the carrier has not confirmed it yet. Don’t use the label.'
