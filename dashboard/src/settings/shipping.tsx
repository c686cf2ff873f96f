import { useState } from 'react'
import { ApiError } from '../client.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { Checkbox, MoneyField, RadioGroup, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { Menu } from '../ui/menu.tsx'
import { readNumber } from '../ui/numbers.ts'
import { Section } from '../ui/section.tsx'
import { Empty } from '../ui/states.tsx'
import { ACTIONS_COLUMN, Table } from '../ui/table.tsx'
import { notify, notifyFailure } from '../ui/toast.tsx'
import { Money } from '../ui/values.tsx'
import { changeShippingOptions, type ShippingOptionRecord } from './api.ts'

export function ShippingTab({ options }: { options: ShippingOptionRecord[] }) {
  const [edited, setEdited] = useState<{ option?: ShippingOptionRecord }>()
  const [removed, setRemoved] = useState<ShippingOptionRecord>()
  const add = (
    <Button icon="plus" onPress={() => setEdited({})}>
      Add an option
    </Button>
  )
  const move = (option: ShippingOptionRecord, by: 1 | -1) =>
    save((current) => {
      const from = positionOf(current, option, 'Try again.')
      return current.toSpliced(from, 1).toSpliced(Math.max(from + by, 0), 0, option)
    }).catch(notifyFailure)
  return (
    <Section
      title="Shipping options"
      help="Buyers choose one at checkout, in this order. Nothing can be ordered while none is enabled."
      actions={options.length > 0 && add}
    >
      {options.length === 0 ? (
        <Empty title="No shipping options" action={add}>
          <p>Without one, nobody can order from your shop.</p>
        </Empty>
      ) : (
        <Table
          label="Shipping options"
          rows={options.map((option, index) => ({ ...option, id: index }))}
          columns={[
            {
              key: 'name',
              header: 'Option',
              isRowHeader: true,
              cell: ({ name, code }) => (
                <div className="name">
                  {name} <code>{code}</code>
                </div>
              ),
            },
            {
              key: 'fulfilment',
              header: 'Label',
              cell: ({ fulfilment, tracked }) =>
                `${fulfilment === 'platform' ? 'From the marketplace' : 'Your own'}${tracked ? ', tracked' : ''}`,
            },
            {
              key: 'limits',
              header: 'For',
              cell: ({ countries, max_value }) => (
                <>
                  {countries ? countries.join(', ') : 'All countries'}
                  {max_value != null && (
                    <>
                      , up to <Money amount={max_value} />
                    </>
                  )}
                </>
              ),
            },
            {
              key: 'enabled',
              header: 'State',
              cell: ({ enabled }) =>
                enabled ? <Badge tone="good">Enabled</Badge> : <Badge>Disabled</Badge>,
            },
            {
              key: 'price',
              header: 'Price',
              align: 'end',
              cell: ({ price }) => <Money amount={price} />,
            },
            {
              ...ACTIONS_COLUMN,
              cell: ({ id: index, ...option }) => (
                <Menu
                  label={`Actions for ${option.name}`}
                  entries={[
                    { label: 'Edit', icon: 'edit', onAction: () => setEdited({ option }) },
                    {
                      label: 'Move up',
                      icon: 'up',
                      isDisabled: index === 0,
                      onAction: () => move(option, -1),
                    },
                    {
                      label: 'Move down',
                      icon: 'down',
                      isDisabled: index === options.length - 1,
                      onAction: () => move(option, 1),
                    },
                    {
                      label: 'Delete',
                      icon: 'trash',
                      isDangerous: true,
                      onAction: () => setRemoved(option),
                    },
                  ]}
                />
              ),
            },
          ]}
        />
      )}
      {edited && <OptionDialog option={edited.option} onClose={() => setEdited(undefined)} />}
      {removed && (
        <ConfirmDialog
          title={`Delete ${removed.name}?`}
          confirm="Delete option"
          onConfirm={() => save((current) => current.toSpliced(positionOf(current, removed), 1))}
          onClose={() => setRemoved(undefined)}
        >
          <p>New orders can’t use it. Orders that were placed with it stay as they are.</p>
        </ConfirmDialog>
      )}
    </Section>
  )
}

const save = async (change: Parameters<typeof changeShippingOptions>[0]) => {
  await changeShippingOptions(change)
  notify('The shipping options were saved.')
}

/** Finds an option in the current list. @throws Error if another member has deleted or changed it */
function positionOf(
  current: ShippingOptionRecord[],
  option: ShippingOptionRecord,
  advice = 'Close this window and open it again.',
): number {
  const position = current.findIndex(({ code }) => code === option.code)
  if (position < 0) throw new Error('This option was deleted meanwhile.')
  if (JSON.stringify(current[position]) !== JSON.stringify(option)) {
    throw new Error(`This option was changed meanwhile. ${advice}`)
  }
  return position
}

/** The service leaves out limits that an option doesn't have. */
const isSame = (saved: ShippingOptionRecord, entered: ShippingOptionRecord) =>
  Object.entries(entered).every(
    ([name, value]) =>
      JSON.stringify(saved[name as keyof ShippingOptionRecord] ?? null) === JSON.stringify(value),
  )

/** Saves a new option, or another version of one that the list has. */
async function saveOption(before: ShippingOptionRecord | undefined, entered: ShippingOptionRecord) {
  let position = 0
  try {
    await save((current) => {
      // An attempt whose response was lost may have saved it.
      const saved = current.findIndex((option) => isSame(option, entered))
      if (saved >= 0) position = saved
      else position = before ? positionOf(current, before) : current.length
      return current.toSpliced(position, 1, entered)
    })
  } catch (error) {
    throw error instanceof ApiError ? withFieldNames(error, position, entered) : error
  }
}

/** The error with the form's names of fields. The service names them by their positions in the lists. */
function withFieldNames(
  error: ApiError,
  position: number,
  { countries }: ShippingOptionRecord,
): ApiError {
  const prefix = `shipping_options.${position}.`
  const plain = (text: string) => text.replace(prefix, '')
  const fields: ApiError['fields'] = {}
  for (const [name, messages] of Object.entries(error.fields)) {
    const [part = '', index] = plain(name).split('.')
    const field = name.startsWith(prefix) ? part : name
    const country = part === 'countries' && index && countries?.[Number(index)]
    fields[field] ??= []
    fields[field].push(
      ...(country ? [`“${country}” is not a country code, such as NL.`] : messages.map(plain)),
    )
  }
  return new ApiError(error.status, error.type, plain(error.message), fields)
}

/** Codes of countries, in any case and with any separators; null for all countries. */
function countriesIn(text: string): string[] | null {
  const codes = text.toUpperCase().match(/[^\s,;]+/g)
  return codes && [...new Set(codes)]
}

function OptionDialog({
  option,
  onClose,
}: {
  option: ShippingOptionRecord | undefined
  onClose: () => void
}) {
  return (
    <Dialog title={option ? 'Edit the option' : 'Add an option'} isModalStrict onClose={onClose}>
      <Form
        label="Shipping option"
        submit="Save option"
        cancel="Cancel"
        onSubmit={async (data) => {
          const text = (name: string) => String(data.get(name) ?? '').trim()
          await saveOption(option, {
            code: text('code'),
            name: text('name'),
            fulfilment: text('fulfilment') as ShippingOptionRecord['fulfilment'],
            tracked: data.has('tracked'),
            price: readNumber('price', text('price')),
            enabled: data.has('enabled'),
            countries: countriesIn(text('countries')),
            max_value: text('max_value') ? readNumber('max_value', text('max_value')) : null,
          })
          onClose()
        }}
      >
        <TextField
          label="Name"
          name="name"
          defaultValue={option?.name}
          maxLength={100}
          help="Buyers see it."
          autoFocus
        />
        <TextField
          label="Code"
          name="code"
          defaultValue={option?.code}
          maxLength={50}
          help="Programs name the option by it, such as letter."
        />
        <MoneyField label="Price" name="price" defaultValue={option?.price ?? 0} />
        <TextField
          label="Countries"
          isOptional
          name="countries"
          defaultValue={option?.countries?.join(' ')}
          help="Codes of the countries that it delivers to, such as NL BE. All countries if empty."
        />
        <MoneyField
          label="Highest value of the goods"
          isOptional
          name="max_value"
          defaultValue={option?.max_value ?? undefined}
          help="Buyers can’t choose it for more. Any value if empty."
        />
        <RadioGroup
          label="Label"
          name="fulfilment"
          defaultValue={option?.fulfilment ?? 'self_ship'}
          options={[
            { value: 'self_ship', label: 'Your own', help: 'You pay the carrier yourself.' },
            {
              value: 'platform',
              label: 'From the marketplace',
              help: 'The marketplace pays for the label and gets the price. Ask it which code and price to use.',
            },
          ]}
        />
        <Checkbox name="tracked" value="yes" defaultSelected={option?.tracked}>
          Tracked
        </Checkbox>
        <Checkbox name="enabled" value="yes" defaultSelected={option?.enabled ?? true}>
          Enabled
        </Checkbox>
      </Form>
    </Dialog>
  )
}
