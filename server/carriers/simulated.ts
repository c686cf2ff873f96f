import type { Db } from '../database/sql.ts'
import type { LabelStatus } from '../enums.ts'
import {
  ACTION_REQUIRED,
  type Carrier,
  CarrierError,
  type CarrierShipment,
  type Parcel,
} from './carrier.ts'

/** How the simulated carrier answers from now on. */
export type Mood = {
  label: (typeof LABEL_MOODS)[number]
  /** `late`: it doesn't tell the code yet. */
  tracking: (typeof TRACKING_MOODS)[number]
}

export const LABEL_MOODS = ['ready', 'processing', 'action_required', 'error'] as const
export const TRACKING_MOODS = ['immediate', 'late'] as const

export const DEFAULT_MOOD: Mood = { label: 'ready', tracking: 'immediate' }

/**
 * The sandbox's carrier: real labels, and every outcome when it's told to (`PUT /operator/v1/sandbox/carrier`). It
 * keeps books of its own; `db` is the pool, so that each statement stands whatever becomes of our transactions.
 */
export function simulatedCarrier({ db, now }: { db: Db; now: () => Date }): Carrier {
  /** Every call asks for it first. @throws CarrierError when it's to fail */
  const mood = async (): Promise<{ label: CarrierShipment['status']; tellsCode: boolean }> => {
    const { label, tracking } = await readMood(db)
    if (label === 'error')
      throw new CarrierError('refused', 'The simulated carrier is told to fail.')
    return { label, tellsCode: tracking === 'immediate' }
  }

  return {
    provider: 'simulated',

    async buy(parcel) {
      const { label, tellsCode } = await mood()
      // The same reference again is the same shipment.
      const [bought] = await db<Books[]>`
        insert into simulated_shipments (reference, status, tells_code, parcel, created_at)
        values (${parcel.reference}, ${label}, ${tellsCode}, ${db.json(parcel)}, ${now()})
        on conflict (reference) do update set reference = excluded.reference
        returning id, status, tells_code as "tellsCode"
      `
      return told(bought!)
    },

    async find(reference) {
      await mood()
      const [found] = await db<Books[]>`
        select id, status, tells_code as "tellsCode"
        from simulated_shipments
        where reference = ${reference}
      `
      return found && told(found)
    },

    async read(id) {
      const { label, tellsCode } = await mood()
      const [shipment] = await db<Books[]>`
        update simulated_shipments
        set
          status = case status when 'ready' then 'ready' else ${label} end,
          tells_code = tells_code or ${tellsCode}
        where id = ${id}
        returning id, status, tells_code as "tellsCode"
      `
      if (!shipment) throw new CarrierError('refused', `There is no shipment ${id}.`)
      return told(shipment)
    },

    async label(id) {
      const [shipment] = await db<{ parcel: Parcel; createdAt: Date }[]>`
        select parcel, created_at as "createdAt"
        from simulated_shipments
        where id = ${id} and status = 'ready'
      `
      if (!shipment) throw new CarrierError('refused', `There is no label of shipment ${id}.`)
      // Loaded with the first label: it would cost every start a tenth of a second.
      const { printLabel } = await import('./simulated-label.ts')
      return printLabel({ ...shipment, trackingCode: codeOf(Number(id)) })
    },
  }
}

type Books = { id: number; status: Exclude<LabelStatus, 'self_ship'>; tellsCode: boolean }

const told = ({ id, status, tellsCode }: Books): CarrierShipment => ({
  id: String(id),
  status,
  message: status === 'action_required' ? ACTION_REQUIRED : null,
  trackingCode: tellsCode ? codeOf(id) : null,
  trackingUrl: tellsCode ? `https://carrier.example/track/${codeOf(id)}` : null,
  trackingStatus: 'announced',
})

const codeOf = (id: number) => `SIM${String(id).padStart(10, '0')}`

async function readMood(db: Db): Promise<Mood> {
  const [mood] = await db<Mood[]>`select label, tracking from simulated_carrier`
  return mood ?? DEFAULT_MOOD
}

/** Tells the simulated carriers of all processes how to answer. */
export async function setMood(db: Db, { label, tracking }: Mood): Promise<void> {
  await db`update simulated_carrier set label = ${label}, tracking = ${tracking}`
}
