import { useRef, useState } from 'react'
import type { CancelReason } from '../../../server/enums.ts'
import { isConflict, isRefusal } from '../client.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Checkbox, RadioGroup } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { formatMoney, plural } from '../ui/format.ts'
import { notify } from '../ui/toast.tsx'
import { cancel, getSlice, type OrderRow, type OwnSlice } from './api.ts'
import { REASONS } from './words.ts'

/** Cancels one row, with the reason that the buyer reads. */
export function CancelDialog({
  row,
  slice: { orders, shipping },
  onChange,
  onClose,
}: {
  row: OrderRow
  slice: OwnSlice
  onChange: (after: OwnSlice) => void
  onClose: () => void
}) {
  const [reason, setReason] = useState<CancelReason>('out_of_stock')
  const maybeCancelled = useRef(false)
  const [restock, setRestock] = useState<boolean>()
  const { refunded_amount: refunded } = row.financial
  // With its last row, a slice refunds its shipping.
  const isLast = orders.every(({ id, status }) => id === row.id || status === 'cancelled')
  const isRestocked = restock ?? reason !== 'out_of_stock'
  return (
    <Dialog title={`Cancel order ${row.id}`} onClose={onClose}>
      <p>
        {row.buyer.name} is refunded {formatMoney(row.price)} for {row.quantity > 1 && 'each of '}
        {plural(row.quantity, 'unit')} of {row.item.name ?? 'this item'}
        {refunded > 0 && `, less the ${formatMoney(refunded)} refunded before`}, and gets an e-mail
        with the reason.{' '}
        {isLast &&
          shipping.price > 0 &&
          `The shipping of ${formatMoney(shipping.price)} is refunded as well. `}
        A cancellation is final.
      </p>
      <Form
        label="Cancel the order"
        submit="Cancel the order"
        look="danger"
        cancel="Keep it"
        onSubmit={async () => {
          const after = await cancel(row.id, { reason, restock: isRestocked }).catch(
            async (error) => {
              if (!isRefusal(error)) maybeCancelled.current = true
              // The attempt without a response has cancelled it.
              else if (isConflict(error) && maybeCancelled.current) {
                const now = await getSlice(row.id)
                if (now.orders.some(({ id, status }) => id === row.id && status === 'cancelled')) {
                  return now
                }
              }
              throw error
            },
          )
          onChange(after)
          notify(`Order ${row.id} was cancelled.`)
          onClose()
        }}
      >
        <RadioGroup
          name="reason"
          label="Reason"
          options={REASONS}
          value={reason}
          onChange={(value) => setReason(value as CancelReason)}
        />
        <Checkbox isSelected={isRestocked} onChange={setRestock}>
          Put the units on sale again
        </Checkbox>
      </Form>
    </Dialog>
  )
}
