import { useRef, useState } from 'react'
import { changesIn } from '../changes.ts'
import { randomName } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { CountField, MoneyField, Select, TextArea, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { readCount, readNumber } from '../ui/numbers.ts'
import { Loaded } from '../ui/states.tsx'
import { notify } from '../ui/toast.tsx'
import {
  type Begun,
  bulkEdit,
  type Listing,
  nameOf,
  newAttempts,
  UnknownOutcomeError,
  useListing,
} from './api.ts'

type Save = (id: number, changes: object, begun: Begun) => Promise<void>

/** The dialog of a listing, with all of its fields that can change. */
export function EditListing({
  id,
  save,
  onClose,
  onDeleted,
}: {
  id: string
  save: Save
  onClose: () => void
  onDeleted: () => Promise<unknown>
}) {
  const query = useListing(id)
  const [isDeleting, setIsDeleting] = useState(false)
  // The same until the service has responded: after a lost response, another attempt gets that response.
  const key = useRef(randomName())
  const name = query.data ? nameOf(query.data) : `Listing ${id}`
  if (isDeleting) {
    return (
      <ConfirmDialog
        title={`Delete ${name}?`}
        confirm="Delete listing"
        onClose={onClose}
        onConfirm={async () => {
          const { data } = await bulkEdit({ ids: [Number(id)], action: 'delete' }, key.current)
          key.current = randomName()
          if (data.failed > 0) throw new Error(data.reasons[0]?.message)
          notify(`${name} was deleted.`)
          await onDeleted()
        }}
      >
        The listing disappears permanently, with the reservations of buyers’ carts. Orders stay.
      </ConfirmDialog>
    )
  }
  return (
    <Dialog title={name} onClose={onClose} isModalStrict>
      <Loaded query={query}>
        {(listing) => (
          <ListingForm
            listing={listing}
            save={save}
            onClose={onClose}
            onDelete={() => setIsDeleting(true)}
          />
        )}
      </Loaded>
    </Dialog>
  )
}

function ListingForm({
  listing,
  save,
  onClose,
  onDelete,
}: {
  listing: Listing
  save: Save
  onClose: () => void
  onDelete: () => void
}) {
  // The values that the fields began with: the listing may be read again while the form is open.
  const [shown] = useState(() => fieldsOf(listing))
  const [begun] = useState(() => ({ shown: String(listing.quantity), ...newAttempts() }))
  return (
    <Form
      label="Listing"
      onSubmit={async (data) => {
        const text = (field: string) => String(data.get(field) ?? '').trim()
        const quantity = readCount('quantity', text('quantity'))
        const changes = changesIn(shown, {
          price: readNumber('price', text('price')),
          quantity,
          status: text('status'),
          description: textIn(text('description')),
          reference: textIn(text('reference')),
        })
        // The stock that was shown is a change too if an earlier attempt may have saved another one, or found another one.
        if (begun.sentAt !== null || begun.shown !== String(shown.quantity)) {
          changes.quantity = quantity
        }
        if (Object.keys(changes).length > 0) {
          await save(listing.id, changes, begun).catch((error) => {
            if (!(error instanceof UnknownOutcomeError)) throw error
            throw new Error(
              `${error.message} Close this and open it again to see the current values.`,
            )
          })
        }
        notify(`${nameOf(listing)} was saved.`)
        onClose()
      }}
      actions={(isSaving) => (
        <>
          <Button type="submit" look="primary" isPending={isSaving}>
            Save
          </Button>
          <Button slot="close">Cancel</Button>
          <Button look="danger" icon="trash" isDisabled={isSaving} onPress={onDelete}>
            Delete
          </Button>
        </>
      )}
    >
      {listing.item_hidden && (
        <Notice tone="warn">
          <strong>
            The marketplace has hidden this {listing.item?.product ? 'product' : 'card'}:
          </strong>{' '}
          buyers find it neither in the catalog nor in searches. Ask the marketplace for the reason.
        </Notice>
      )}
      <MoneyField label="Price" name="price" defaultValue={shown.price} isRequired />
      <CountField
        label="Stock"
        name="quantity"
        defaultValue={shown.quantity}
        minValue={0}
        maxValue={999}
        isRequired
      />
      <Select
        label="Status"
        name="status"
        defaultValue={shown.status}
        options={[
          { value: 'active', label: 'On sale while there is stock' },
          { value: 'hidden', label: 'Hidden' },
        ]}
      />
      <TextField
        label="Reference"
        isOptional
        name="reference"
        defaultValue={shown.reference ?? ''}
        help="Your own name for it, such as a shelf or SKU. Buyers never see it."
      />
      <TextArea
        label="Description"
        isOptional
        name="description"
        defaultValue={shown.description ?? ''}
        help="Buyers see it next to the offer."
      />
    </Form>
  )
}

/** The values that the form shows. A listing that is sold out is on sale as soon as it has stock. */
const fieldsOf = ({ price, quantity, status, description, reference }: Listing) => ({
  price,
  quantity,
  status: status === 'hidden' ? 'hidden' : 'active',
  description: textIn(description),
  reference: textIn(reference),
})

/** A text as its field returns it, so that a field nobody touched has no change. */
const textIn = (text: string | null) => text?.replaceAll(/\r\n?/g, '\n').trim() || null
