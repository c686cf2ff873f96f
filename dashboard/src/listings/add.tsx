import { useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import {
  CONDITION_NAMES,
  CONDITIONS,
  GRADES,
  GRADING_COMPANIES,
  LANGUAGES,
  PRINTINGS,
} from '../../../server/enums.ts'
import { ApiError } from '../client.ts'
import { readAgain } from '../query-client.ts'
import { Button } from '../ui/button.tsx'
import { CountField, MoneyField, Select, TextArea, TextField } from '../ui/fields.tsx'
import { SearchFilter, useFilters } from '../ui/filters.tsx'
import { Form } from '../ui/form.tsx'
import { formatNumber, plural } from '../ui/format.ts'
import { List } from '../ui/list.tsx'
import { readCount, readNumber } from '../ui/numbers.ts'
import { optionsOf } from '../ui/options.ts'
import { PageHeader } from '../ui/page-header.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { notify } from '../ui/toast.tsx'
import {
  attempt,
  type CatalogItem,
  createListings,
  detailsOf,
  keyOf,
  langOf,
  newAttempts,
  UnknownOutcomeError,
  useCatalog,
} from './api.ts'
import { Picture } from './picture.tsx'

/** Finds a card or product in the catalog, and lists it. */
export default function AddListing() {
  const { filters, setFilters } = useFilters({ q: '', item: '' })
  const { q } = filters
  const query = useCatalog(q)
  const items = query.data?.data ?? []
  const total = query.data?.total
  const isCut = q !== '' && total !== undefined && total > items.length
  const found = items.find((item) => keyOf(item) === filters.item)
  // Its form keeps the input if the marketplace hides the item meanwhile.
  const [chosen, setChosen] = useState(found)
  if (found && found !== chosen) setChosen(found)
  const item = chosen && keyOf(chosen) === filters.item ? chosen : undefined
  return (
    <>
      <PageHeader title="Add listing" back={{ href: '/listings', label: 'Listings' }}>
        Search the catalog for the card or sealed product that you want to sell.
      </PageHeader>
      {item ? (
        <NewListing
          key={filters.item}
          item={item}
          details={detailsOf(item, items)}
          onBack={() => setFilters({ item: '' })}
        />
      ) : (
        <>
          <search className="filters">
            <SearchFilter
              label="Name, number or set: charizard 4"
              maxLength={100}
              value={q}
              onChange={(q, options) => setFilters({ q, item: '' }, options)}
            />
          </search>
          <p role="status" className={isCut ? 'help' : 'visually-hidden'}>
            {q !== '' && foundOf(items.length, total)}
          </p>
          {q !== '' && (
            <Loaded query={query}>
              {({ data, q: searched }) =>
                data.length === 0 ? (
                  <Empty title="Nothing matches" icon="search">
                    Try another spelling, a number with its set, or only a part of the name.
                  </Empty>
                ) : (
                  <List className="catalog-items">
                    {data.map((found) => (
                      <li key={keyOf(found)}>
                        <button
                          type="button"
                          // The results of a text that was typed meanwhile need not have the item.
                          onClick={() => setFilters({ q: searched, item: keyOf(found) })}
                        >
                          <Picture src={found.image} name={found.name} />
                          <span>
                            <strong lang={langOf(found)}>{found.name}</strong>
                            <span className="help">{detailsOf(found, data)}</span>
                          </span>
                        </button>
                      </li>
                    ))}
                  </List>
                )
              }
            </Loaded>
          )}
        </>
      )}
    </>
  )
}

const foundOf = (shown: number, total: number | undefined) =>
  total !== undefined &&
  (total > shown
    ? `The first ${shown} of ${formatNumber(total)} items. Add a number or a set to find others.`
    : `${plural(total, 'item')} found`)

function NewListing({
  item,
  details,
  onBack,
}: {
  item: CatalogItem
  details: string
  onBack: () => void
}) {
  const [, navigate] = useLocation()
  const [condition, setCondition] = useState('NM')
  const heading = useRef<HTMLHeadingElement>(null)
  // The button that chose the item is gone.
  useEffect(() => heading.current?.focus(), [])
  // Another attempt after a lost connection lists it once.
  const attempts = useRef(newAttempts())

  async function create(data: FormData) {
    const text = (field: string) => String(data.get(field) ?? '').trim()
    const given = {
      card: item.card,
      product: item.product,
      condition: item.card && condition,
      language: text('language'),
      printing: text('printing'),
      grading_company: text('grading_company'),
      grading_grade: text('grading_grade'),
      price: readNumber('price', text('price')),
      quantity: readCount('quantity', text('quantity')),
      reference: text('reference'),
      description: text('description'),
    }
    const listing = Object.fromEntries(Object.entries(given).filter(([, value]) => value))
    const { results, warnings = [] } = await attempt(attempts.current, (key) =>
      createListings([listing], key),
    ).catch((error) => {
      if (!(error instanceof UnknownOutcomeError)) throw error
      throw new Error(`${error.message} Look for it among your listings.`)
    })
    const [result] = results
    if (result?.status === 'failed') {
      attempts.current = newAttempts()
      throw new ApiError(422, 'validation_error', 'The listing is not valid.', result.errors)
    }
    notify([`${item.name} was listed.`, ...warnings].join(' '))
    await readAgain(['listings'])
    return () => navigate('/listings')
  }

  return (
    <div className="new-listing">
      <div className="listing-name">
        <Picture src={item.image} name={item.name} />
        <div>
          <h2 ref={heading} tabIndex={-1} lang={langOf(item)}>
            {item.name}
          </h2>
          <p className="help">{details}</p>
          <Button size="small" look="quiet" icon="left" onPress={onBack}>
            Choose another
          </Button>
        </div>
      </div>
      <Form label="New listing" submit="List it" onSubmit={create}>
        {item.card && (
          <>
            <Select
              label="Condition"
              name="condition"
              value={condition}
              onChange={setCondition}
              options={CONDITIONS.map((value) => ({ value, label: CONDITION_NAMES[value] }))}
            />
            {condition === 'G' && (
              <>
                <Select
                  label="Grading company"
                  name="grading_company"
                  options={optionsOf(GRADING_COMPANIES)}
                />
                <Select label="Grade" name="grading_grade" options={optionsOf(GRADES)} />
              </>
            )}
            <Select
              label="Printing"
              name="printing"
              defaultValue="standard"
              options={PRINTINGS.map((value) => ({ value, label: value.replaceAll('_', ' ') }))}
            />
          </>
        )}
        <Select
          label="Language"
          name="language"
          defaultValue={item.language ?? 'EN'}
          options={optionsOf(LANGUAGES)}
        />
        <MoneyField label="Price" name="price" isRequired />
        <CountField
          label="Stock"
          name="quantity"
          defaultValue={1}
          minValue={1}
          maxValue={999}
          isRequired
        />
        <TextField
          label="Reference"
          isOptional
          name="reference"
          help="Your own name for it, such as a shelf or SKU. Buyers never see it."
        />
        <TextArea label="Description" isOptional name="description" rows={3} />
        <p className="help">
          Photos come from addresses on the web: with the import of a CSV file (photo_urls), or with
          a program.
        </p>
      </Form>
    </div>
  )
}
