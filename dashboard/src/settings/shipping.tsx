import { useState } from 'react'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { Checkbox, MoneyField, RadioGroup, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { Menu } from '../ui/menu.tsx'
import { readNumber } from '../ui/numbers.ts'
import { Section } from '../ui/section.tsx'
import { Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { notify, notifyFailure } from '../ui/toast.tsx'
import { Money } from '../ui/values.tsx'
import { changeShippingOptions, type ShippingOptionRecord } from './api.ts'

/** The option that is edited: its position, or the end of the list for a new one. */
type Edited = { index: number; option?: ShippingOptionRecord }

export function ShippingTab({ options }: { options: ShippingOptionRecord[] }) {
  const [edited, setEdited] = useState<Edited>()
  const [removed, setRemoved] = useState<number>()
  const add = (
    <Button icon="plus" onPress={() => setEdited({ index: options.length })}>
      Add an option
    </Button>
  )
  const save = (changed: ShippingOptionRecord[]) =>
    changeShippingOptions(changed).then(() => notify('The shipping options were saved.'))
  const move = (from: number, to: number) => {
    const changed = options.toSpliced(from, 1).toSpliced(to, 0, options[from]!)
    save(changed).catch(notifyFailure)
  }
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
          rows={options.map((option, index) => ({ ...option, index }))}
          keyOf={({ index }) => index}
          columns={[
            {
              key: 'name',
              header: 'Option',
              isRowHeader: true,
              cell: ({ name, code }) => (
                <>
                  {name} <code>{code}</code>
                </>
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
              key: 'actions',
              header: 'Actions',
              isHeaderHidden: true,
              align: 'end',
              cell: ({ index, ...option }) => (
                <Menu
                  label={`Actions for ${option.name}`}
                  entries={[
                    { label: 'Edit', icon: 'edit', onAction: () => setEdited({ index, option }) },
                    {
                      label: 'Move up',
                      icon: 'up',
                      isDisabled: index === 0,
                      onAction: () => move(index, index - 1),
                    },
                    {
                      label: 'Move down',
                      icon: 'down',
                      isDisabled: index === options.length - 1,
                      onAction: () => move(index, index + 1),
                    },
                    {
                      label: 'Delete',
                      icon: 'trash',
                      isDangerous: true,
                      onAction: () => setRemoved(index),
                    },
                  ]}
                />
              ),
            },
          ]}
        />
      )}
      {edited && (
        <OptionDialog
          edited={edited}
          onSave={(option) => save(options.toSpliced(edited.index, 1, option))}
          onClose={() => setEdited(undefined)}
        />
      )}
      {removed !== undefined && (
        <ConfirmDialog
          title={`Delete ${options[removed]?.name}?`}
          confirm="Delete option"
          onConfirm={() => save(options.toSpliced(removed, 1))}
          onClose={() => setRemoved(undefined)}
        >
          <p>New orders can’t use it. Orders that were placed with it stay as they are.</p>
        </ConfirmDialog>
      )}
    </Section>
  )
}

function OptionDialog({
  edited: { index, option },
  onSave,
  onClose,
}: {
  edited: Edited
  onSave: (option: ShippingOptionRecord) => Promise<unknown>
  onClose: () => void
}) {
  // The service names fields by their position in the whole list.
  const field = (name: string) => `shipping_options.${index}.${name}`
  return (
    <Dialog title={option ? 'Edit the option' : 'Add an option'} isModalStrict onClose={onClose}>
      <Form
        label="Shipping option"
        onSubmit={async (data) => {
          const text = (name: string) => String(data.get(field(name)) ?? '').trim()
          await onSave({
            code: text('code'),
            name: text('name'),
            fulfilment: text('fulfilment') as ShippingOptionRecord['fulfilment'],
            tracked: data.has(field('tracked')),
            price: readNumber(field('price'), text('price')),
            enabled: data.has(field('enabled')),
            countries: text('countries')
              ? text('countries')
                  .toUpperCase()
                  .split(/[\s,;]+/)
              : null,
            max_value: text('max_value') ? readNumber(field('max_value'), text('max_value')) : null,
          })
          onClose()
        }}
        actions={(isSaving) => (
          <>
            <Button type="submit" look="primary" isPending={isSaving}>
              Save option
            </Button>
            <Button onPress={onClose}>Cancel</Button>
          </>
        )}
      >
        <TextField
          label="Name"
          name={field('name')}
          defaultValue={option?.name}
          maxLength={100}
          help="Buyers see it."
          autoFocus
        />
        <TextField
          label="Code"
          name={field('code')}
          defaultValue={option?.code}
          maxLength={50}
          help="Programs name the option by it, such as letter."
        />
        <MoneyField label="Price" name={field('price')} defaultValue={option?.price ?? 0} />
        <TextField
          label="Countries"
          name={field('countries')}
          defaultValue={option?.countries?.join(' ')}
          help="Codes of the countries that it delivers to, such as NL BE. All countries if empty."
        />
        <MoneyField
          label="Highest value of the goods"
          name={field('max_value')}
          defaultValue={option?.max_value ?? undefined}
          help="Buyers can’t choose it for more. Any value if empty."
        />
        <RadioGroup
          label="Label"
          name={field('fulfilment')}
          defaultValue={option?.fulfilment ?? 'self_ship'}
          options={[
            { value: 'self_ship', label: 'Your own', help: 'You pay the carrier yourself.' },
            {
              value: 'platform',
              label: 'From the marketplace',
              help: 'You buy the label here for each order.',
            },
          ]}
        />
        <Checkbox name={field('tracked')} value="yes" defaultSelected={option?.tracked}>
          Tracked
        </Checkbox>
        <Checkbox name={field('enabled')} value="yes" defaultSelected={option?.enabled ?? true}>
          Enabled
        </Checkbox>
      </Form>
    </Dialog>
  )
}
