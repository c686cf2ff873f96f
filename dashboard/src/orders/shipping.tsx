import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { isConflict } from '../client.ts'
import { Button, ExternalLink } from '../ui/button.tsx'
import { TextField } from '../ui/fields.tsx'
import { Form, FormErrors } from '../ui/form.tsx'
import { plural } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { notify, notifyFailure } from '../ui/toast.tsx'
import { Unsent } from '../ui/unsent.tsx'
import { useIsShown } from '../ui/use-is-shown.ts'
import { buyLabel, type OrderRow, type OwnSlice, ship } from './api.ts'

type Props = { slice: OwnSlice; order: number; onChange: (after: OwnSlice) => void }

/** The label and the shipment of a slice. */
export function Shipping({ slice, order, onChange }: Props) {
  const { shipping, actions, orders } = slice
  const [code, setCode] = useState('')
  const isUnsent = !actions.ship && !['', shipping.tracking_code].includes(code.trim())
  const unsent = isUnsent && (
    <Unsent text={code} onDrop={() => setCode('')}>
      {actions.needs_payout_setup
        ? 'This order can’t be marked as shipped now.'
        : 'This order can no longer be marked as shipped.'}{' '}
      Your tracking code was not saved:
    </Unsent>
  )
  if (orders.every(({ status }) => status === 'cancelled')) {
    return (
      <Section title="Shipping" help={shipping.method ?? undefined}>
        <p>This order was cancelled: there is nothing to ship.</p>
        {slice.label && <p>A label was bought before. Please don’t use it.</p>}
        {unsent}
      </Section>
    )
  }
  return (
    <Section title="Shipping" help={shipping.method ?? undefined}>
      {shipping.paid_to === 'platform' ? (
        // The message of a failed purchase is about the label's status before.
        <LabelPart key={slice.label?.status} slice={slice} order={order} onChange={onChange} />
      ) : (
        <p>You ship this order yourself: there is no label to buy.</p>
      )}
      {shipping.tracking_code && (
        <p>
          Tracking code: <code>{shipping.tracking_code}</code>
          {shipping.tracking_status && ` (${shipping.tracking_status})`}
        </p>
      )}
      {actions.ship && (
        <ShipForm slice={slice} order={order} onChange={onChange} code={code} setCode={setCode} />
      )}
      {unsent}
      {actions.needs_payout_setup && (
        <Notice tone="warn">
          <p>
            You can ship this order as soon as your bank account is verified.{' '}
            <Link href="/payouts/setup">Payout setup</Link>
          </p>
        </Notice>
      )}
      {!hasPending(slice) && <p className="help">Nothing is left to ship.</p>}
    </Section>
  )
}

/** Whether a row is left to ship. */
export const hasPending = ({ orders }: OwnSlice) => orders.some(isPending)

const isPending = ({ status }: OrderRow) => status === 'pending'

/** Why no label can be bought, or nothing if another part of the page says it. */
function reasonForNoLabel(slice: OwnSlice): string | undefined {
  if (slice.actions.needs_payout_setup) return undefined
  if (!hasPending(slice)) return 'No label was bought.'
  return slice.buyer.address === null
    ? 'A label needs a delivery address, and this buyer gave none.'
    : 'No labels can be bought at the moment, because no carrier is connected.'
}

/** The four outcomes of a purchase: ready, processing, action required, and a failure. */
function LabelPart({ slice, order, onChange }: Props) {
  const { label, actions } = slice
  const isShown = useIsShown()
  // Another page shows neither the order nor its error.
  const say = (text: string, options?: { isFailure: boolean }) =>
    notify(isShown.current ? text : `Label of order ${order}: ${text}`, options)
  const purchase = useMutation({
    mutationFn: async () => ({ isNew: label === null, outcome: await buyLabel(order) }),
    onSuccess: ({ isNew, outcome }) => {
      onChange(outcome.order)
      say(
        outcome.status === 'ready'
          ? 'The label is ready.'
          : isNew
            ? 'The label was bought, without a PDF.'
            : 'The label is not ready.',
      )
    },
    onError: ({ message }) => {
      if (!isShown.current) say(message, { isFailure: true })
    },
  })
  const button = (text: string, look: 'primary' | 'secondary' = 'secondary') =>
    actions.label && (
      <div>
        <Button look={look} isPending={purchase.isPending} onPress={() => purchase.mutate()}>
          {text}
        </Button>
      </div>
    )
  return (
    <div className="label-part">
      <FormErrors messages={purchase.error ? [purchase.error.message] : []} />
      {label === null &&
        (!actions.label ? (
          <p className="help">{reasonForNoLabel(slice)}</p>
        ) : hasPending(slice) ? (
          button('Buy label', 'primary')
        ) : (
          <>
            <p className="help">
              You have marked this order as shipped. You can still buy its label.
            </p>
            {button('Buy label')}
          </>
        ))}
      {label?.status === 'ready' && (
        <>
          <Notice tone="good">
            <p>The label is ready.</p>
            {label.label_url && <ExternalLink href={label.label_url}>Open the label</ExternalLink>}
          </Notice>
          {label.label_url === null && button('Get a new link')}
        </>
      )}
      {label?.status === 'processing' && (
        <>
          <Notice tone={label.message === null ? undefined : 'warn'}>
            <p>
              {label.message ??
                'The label is bought. The carrier prepares the PDF, which can take some minutes.'}
            </p>
          </Notice>
          {button('Check again')}
        </>
      )}
      {label?.status === 'action_required' && (
        <>
          <Notice tone="warn">
            <p>{label.message ?? 'The label is bought, but the carrier withholds it.'}</p>
          </Notice>
          {button('Check again')}
        </>
      )}
    </div>
  )
}

/** Says what was shipped. Rows that were cancelled while the page showed them as pending must not be in the parcel. */
function confirmShipped({ orders }: OwnSlice, after: OwnSlice): void {
  const shown = new Set(orders.filter(isPending).map(({ id }) => id))
  const changed = after.orders.filter(({ id }) => shown.has(id))
  const shipped = changed.filter(({ status }) => status === 'shipped').length
  notify(`Marked as shipped: ${plural(shipped, 'item')}. The buyer gets an e-mail.`)
  for (const { id, item, status } of changed) {
    if (status !== 'cancelled') continue
    const text = `Order ${id} (${item.name ?? 'Item'}) was cancelled meanwhile: don’t send it.`
    notify(text, { isFailure: true })
  }
}

function ShipForm({
  slice,
  order,
  onChange,
  code,
  setCode,
}: Props & { code: string; setCode: (code: string) => void }) {
  const { needs_tracking_code: needsCode } = slice.actions.ship!
  const isWaitingForLabel = slice.shipping.paid_to === 'platform' && slice.label === null
  return (
    <Form
      label="Ship"
      submit="Mark as shipped"
      look={isWaitingForLabel ? 'secondary' : 'primary'}
      onSubmit={async () => {
        try {
          const after = await ship(order, needsCode ? code : null)
          setCode('')
          onChange(after)
          confirmShipped(slice, after)
        } catch (error) {
          // The form may be gone, with its message.
          if (!isConflict(error)) throw error
          notifyFailure(error)
        }
      }}
    >
      {needsCode && (
        <TextField
          name="tracking_code"
          label="Tracking code"
          value={code}
          onChange={setCode}
          help="Of the parcel that you hand in. The buyer gets it by e-mail."
          maxLength={100}
          isMonospaced
          autoComplete="off"
        />
      )}
    </Form>
  )
}
