import type { Db } from '../database/sql.ts'
import type { BoughtLabelStatus } from '../enums.ts'
import {
  ACTION_REQUIRED,
  type Carrier,
  CarrierError,
  type CarrierShipment,
  MissingShipmentError,
  type Parcel,
} from './carrier.ts'

/** The behaviour of the simulated carrier, which the operator steers. */
export type CarrierMode = {
  /** `error`: every call fails. */
  label: (typeof LABEL_MODES)[number]
  /** `late`: shipments have no tracking code yet. */
  tracking: (typeof TRACKING_MODES)[number]
}

export const LABEL_MODES = ['ready', 'processing', 'action_required', 'error'] as const
export const TRACKING_MODES = ['immediate', 'late'] as const

export const DEFAULT_MODE: CarrierMode = { label: 'ready', tracking: 'immediate' }

/**
 * The sandbox's carrier. It prints real labels; `PUT /operator/v1/sandbox/carrier` selects the outcome of its calls.
 *
 * It stores its shipments through the pool, so that they survive the rollback of our transactions, like those of a real
 * carrier. Otherwise a test of a crash after the purchase would prove nothing.
 */
export function simulatedCarrier({ db, now }: { db: Db; now: () => Date }): Carrier {
  /** @throws CarrierError in the mode `error` */
  const currentMode = async () => {
    const { label, tracking } = await readMode(db)
    if (label === 'error') {
      throw new CarrierError('refused', 'The simulated carrier is in the mode "error".')
    }
    return { label, tellsCode: tracking === 'immediate' }
  }

  return {
    provider: 'simulated',

    async buy(parcel) {
      const { label, tellsCode } = await currentMode()
      // A repeated reference returns the existing shipment.
      const [bought] = await db<ShipmentRow[]>`
        insert into simulated_shipments (reference, status, tells_code, parcel, created_at)
        values (${parcel.reference}, ${label}, ${tellsCode}, ${db.json(parcel)}, ${now()})
        on conflict (reference) do update set reference = excluded.reference
        returning id, status, tells_code as "tellsCode"
      `
      return shipmentFrom(bought!)
    },

    async find(reference) {
      await currentMode()
      const [found] = await db<ShipmentRow[]>`
        select id, status, tells_code as "tellsCode"
        from simulated_shipments
        where reference = ${reference}
      `
      return found && shipmentFrom(found)
    },

    async read(id, { mayRequestLabel }) {
      const { label, tellsCode } = await currentMode()
      const [shipment] = await db<ShipmentRow[]>`
        update simulated_shipments
        set
          status = case
            when status = 'ready' or (status = 'action_required' and not ${mayRequestLabel})
              then status
            else ${label}
          end,
          tells_code = tells_code or ${tellsCode}
        where id = ${id}
        returning id, status, tells_code as "tellsCode"
      `
      if (!shipment) throw new MissingShipmentError(`Shipment ${id} does not exist.`)
      return shipmentFrom(shipment)
    },

    async label(id) {
      const [shipment] = await db<{ parcel: Parcel; createdAt: Date }[]>`
        select parcel, created_at as "createdAt"
        from simulated_shipments
        where id = ${id} and status = 'ready'
      `
      if (!shipment) throw new CarrierError('refused', `Shipment ${id} has no label.`)
      // Loads libraries for PDFs and barcodes, which would add a tenth of a second to every start.
      const { printLabel } = await import('./simulated-label.ts')
      return printLabel({ ...shipment, trackingCode: codeOf(Number(id)) })
    },
  }
}

/** Erases the recipients of these slices' parcels, as a buyer's data is erased. A real carrier keeps its own records. */
export async function forgetRecipients(db: Db, sliceIds: number[]): Promise<void> {
  await db`
    update simulated_shipments
    set
      parcel = parcel || jsonb_build_object(
        'recipient',
        (select jsonb_object_agg(key, '') from jsonb_object_keys(parcel -> 'recipient') key)
      )
    where
      reference in (select reference from shipments where slice_id = any(${sliceIds}::bigint[]))
  `
}

type ShipmentRow = { id: number; status: BoughtLabelStatus; tellsCode: boolean }

const shipmentFrom = ({ id, status, tellsCode }: ShipmentRow): CarrierShipment => ({
  id: String(id),
  status,
  message: status === 'action_required' ? ACTION_REQUIRED : null,
  cancellation: null,
  trackingCode: tellsCode ? codeOf(id) : null,
  trackingUrl: tellsCode ? `https://carrier.example/track/${codeOf(id)}` : null,
  trackingStatus: 'announced',
})

const codeOf = (id: number) => `SIM${String(id).padStart(10, '0')}`

async function readMode(db: Db): Promise<CarrierMode> {
  const [mode] = await db<CarrierMode[]>`select label, tracking from simulated_carrier`
  return mode ?? DEFAULT_MODE
}

/** Sets the mode of the simulated carrier in all processes. */
export async function setCarrierMode(db: Db, { label, tracking }: CarrierMode): Promise<void> {
  await db`update simulated_carrier set label = ${label}, tracking = ${tracking}`
}
