import { type ReactNode, useState } from 'react'
import {
  CANCELLERS,
  DISPUTE_REASONS,
  type OrderStatus,
  TRANSITIONS,
} from '../../../server/enums.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Checkbox, MoneyField, RadioGroup, Select, TextArea } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { formatMoney } from '../ui/format.ts'
import { Menu } from '../ui/menu.tsx'
import { readNumber } from '../ui/numbers.ts'
import { optionsOf } from '../ui/options.ts'
import { Loaded } from '../ui/states.tsx'
import { notify } from '../ui/toast.tsx'
import { useAttempt } from '../ui/use-attempt.ts'
import { type Order, type Slice, send, useCurrentRecord, useMay } from './api.ts'
import { useSeen } from './use-seen.ts'

type Definition = {
  /** The verb on the buttons. */
  label: string
  /** The last part of the path. */
  path: string
  /** The statuses in which the service accepts it. */
  statuses: readonly OrderStatus[]
  /** A further condition. */
  isPossible?: (order: Order) => boolean
  isDangerous?: boolean
  /** The sentence above the fields: the effect, and the sum of money. */
  effect: (order: Order, slice: Slice) => ReactNode
  fields?: (order: Order) => ReactNode
  body?: (data: FormData, order: Order, disputeId: number | undefined) => object
}

const textOf = (data: FormData, name: string) => String(data.get(name) ?? '').trim()

const REFUND_PARTS = {
  seller: 'The seller’s payout',
  platform: 'The marketplace’s commission',
}

/** The part of a row's price that was not refunded yet, in whole cents, as the service computes it. */
const restOf = ({ price, quantity, financial }: Order) =>
  Math.round(100 * price) * quantity - Math.round(100 * financial.refunded_amount)

/** The sum that the buyer gets when the row is cancelled. With its last row, a slice refunds its shipping. */
function refundOf(order: Order, { rows, shipping }: Slice): string {
  const rest = restOf(order)
  const isLast = rows.every(({ id, status }) => id === order.id || status === 'cancelled')
  const parts = [
    ...(rest > 0 ? [formatMoney(rest / 100)] : []),
    ...(isLast && shipping.price > 0 ? [`the shipping of ${formatMoney(shipping.price)}`] : []),
  ]
  return parts.join(' and ') || 'nothing more'
}

const isCancellable = (status: OrderStatus) =>
  (TRANSITIONS.cancel.from as readonly OrderStatus[]).includes(status)

/** The actions about an order row, by the `operationId` of their operation. */
const ACTIONS = {
  refundOrder: {
    label: 'Refund',
    path: 'refund',
    statuses: ['pending', 'shipped', 'received', 'disputed'],
    isPossible: (order) => restOf(order) > 0,
    isDangerous: true,
    effect: ({ price, quantity, financial }) =>
      `The buyer gets an e-mail, and the row keeps its status. ${formatMoney(financial.refunded_amount)} of ${quantity} × ${formatMoney(price)} has been refunded so far.`,
    fields: () => (
      <>
        <MoneyField name="amount" label="Amount" isRequired />
        <TextArea name="reason" label="Reason" rows={2} isRequired />
        <RadioGroup
          name="borne_by"
          label="The refund reduces"
          defaultValue="seller"
          options={Object.entries(REFUND_PARTS).map(([value, label]) => ({ value, label }))}
        />
      </>
    ),
    body: (data, { financial }) => ({
      amount: readNumber('amount', textOf(data, 'amount')),
      reason: textOf(data, 'reason'),
      borne_by: data.get('borne_by'),
      refunded_amount: financial.refunded_amount,
    }),
  },
  cancelOrder: {
    label: 'Cancel',
    path: 'cancel',
    statuses: TRANSITIONS.cancel.from,
    isDangerous: true,
    effect: (order, slice) =>
      `Refunds ${refundOf(order, slice)} to the buyer. A cancellation is final.`,
    fields: ({ status }) => (
      <>
        <Select
          name="cancelled_by"
          label="Cancelled by"
          defaultValue="admin"
          options={optionsOf(CANCELLERS)}
        />
        {/* The seller no longer has the units of a shipped or disputed row. Another status makes another suggestion. */}
        <Checkbox key={status} name="restock" value="yes" defaultSelected={status === 'pending'}>
          Put the units on sale again
        </Checkbox>
      </>
    ),
    body: (data, { status, financial }) => ({
      cancelled_by: data.get('cancelled_by'),
      restock: data.has('restock'),
      // After a refusal, the row can have a status from which no row is cancelled: the service refuses that with a reason.
      ...(isCancellable(status) && { status }),
      refunded_amount: financial.refunded_amount,
    }),
  },
  receiveOrder: {
    label: 'Mark as received',
    path: 'receive',
    statuses: TRANSITIONS.receive.from,
    effect: () => 'The seller is paid when all rows of the slice are received or cancelled.',
  },
  disputeOrder: {
    label: 'Open a dispute',
    path: 'dispute',
    statuses: TRANSITIONS.dispute.from,
    effect: () => 'The seller gets an e-mail and has five days to answer. Payouts wait meanwhile.',
    fields: () => (
      <>
        <Select
          name="reason"
          label="Reason"
          defaultValue="not_as_described"
          options={optionsOf(DISPUTE_REASONS)}
        />
        <TextArea name="message" label="The buyer’s message" isOptional />
      </>
    ),
    body: (data) => ({
      reason: data.get('reason'),
      ...(textOf(data, 'message') && { message: textOf(data, 'message') }),
    }),
  },
  resolveDispute: {
    label: 'Resolve the dispute',
    path: 'resolve',
    statuses: TRANSITIONS.resolveForSeller.from,
    isDangerous: true,
    effect: (order, slice) =>
      `In favour of the buyer, the row is cancelled and the buyer gets ${refundOf(order, slice)} back. In favour of the seller, the row becomes received.`,
    fields: () => (
      <>
        <RadioGroup
          name="in_favour_of"
          label="In favour of"
          defaultValue="seller"
          options={optionsOf(['seller', 'buyer'])}
        />
        <MoneyField
          name="refund"
          label="Partial refund"
          isOptional
          help="The seller refunds this part, and the row becomes received."
        />
      </>
    ),
    body: (data, { financial }, dispute_id) => {
      const refund = textOf(data, 'refund')
      return {
        in_favour_of: data.get('in_favour_of'),
        ...(refund && { refund: readNumber('refund', refund) }),
        refunded_amount: financial.refunded_amount,
        dispute_id,
      }
    },
  },
} satisfies Record<string, Definition>

export type OrderAction = keyof typeof ACTIONS

const ENTRIES = Object.entries(ACTIONS) as [OrderAction, Definition][]

/** The actions that the row's status and the role of the signed-in person allow. */
export function OrderMenu({
  order,
  onAction,
}: {
  order: Order
  onAction: (action: OrderAction) => void
}) {
  const may = useMay()
  const possible = ENTRIES.filter(
    ([operation, { statuses, isPossible }]) =>
      may(operation) && statuses.includes(order.status) && (isPossible?.(order) ?? true),
  )
  if (possible.length === 0) return null
  return (
    <Menu
      label={`Actions for order ${order.id}`}
      entries={possible.map(([operation, { label, isDangerous }]) => ({
        label,
        isDangerous,
        onAction: () => onAction(operation),
      }))}
    />
  )
}

/**
 * Asks for what the action needs, and names its effect before it happens. Reads the order's slice first: its row in a
 * list may be older than a refund whose response was lost.
 */
export function OrderActionDialog({
  action,
  order: { id, slice_key },
  onClose,
}: {
  action: OrderAction
  order: Order
  onClose: () => void
}) {
  const query = useCurrentRecord<Slice>(`slices/${encodeURIComponent(slice_key)}`)
  return (
    <Dialog title={`${ACTIONS[action].label}: order ${id}`} isModalStrict onClose={onClose}>
      <Loaded query={query} lines={3}>
        {(slice) => (
          <OrderActionForm
            action={action}
            order={slice.rows.find((row) => row.id === id)!}
            slice={slice}
            onClose={onClose}
          />
        )}
      </Loaded>
    </Dialog>
  )
}

function OrderActionForm({
  action,
  order,
  slice,
  onClose,
}: {
  action: OrderAction
  order: Order
  slice: Slice
  onClose: () => void
}) {
  const { label, path, isDangerous, effect, fields, body }: Definition = ACTIONS[action]
  const keyFor = useAttempt()
  const [seen, attempt] = useSeen({ order, slice })
  // A decision is about the dispute that was read, also after a refusal: the form shows nothing of another one.
  const [dispute] = useState(() =>
    slice.disputes.find((each) => each.order_id === order.id && each.state !== 'resolved'),
  )

  async function submit(data: FormData): Promise<undefined> {
    const input = body?.(data, seen.order, dispute?.id)
    await attempt(() => send(`orders/${order.id}/${path}`, input, keyFor(input)))
    notify(`${label}: order ${order.id} was changed.`)
    onClose()
  }

  return (
    <>
      <p>
        <strong>{order.item.name ?? 'Item'}</strong>, sold to{' '}
        {order.buyer.name ?? 'an erased buyer'}. {effect(seen.order, seen.slice)}
      </p>
      <Form
        label={label}
        submit={label}
        look={isDangerous ? 'danger' : 'primary'}
        cancel="Back"
        onSubmit={submit}
      >
        {fields?.(seen.order)}
      </Form>
    </>
  )
}
