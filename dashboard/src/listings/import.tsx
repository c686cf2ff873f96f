import { useEffect, useState } from 'react'
import { DropZone, FileTrigger } from 'react-aria-components'
import { CsvError, readCsv } from '../../../sdk/src/csv.ts'
import { LANGUAGES } from '../../../server/enums.ts'
import { randomName } from '../client.ts'
import { useMe } from '../shell/me.ts'
import { Button } from '../ui/button.tsx'
import { FormErrors } from '../ui/form.tsx'
import { Icon } from '../ui/icons.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Section } from '../ui/section.tsx'
import { type ChosenFile, Preview } from './import-preview.tsx'
import { begin, resume } from './import-run.ts'
import { Running } from './import-running.tsx'
import { importKey, useRun } from './import-state.ts'

/** Lists the rows of a CSV file: choose it, map its columns, look at the preview, and let it run. */
export default function ImportListings() {
  const { data: me } = useMe()
  const run = useRun()
  const [file, setFile] = useState<ChosenFile>()
  const shop = me && importKey(me.account)
  useEffect(() => {
    if (shop !== undefined) void resume(shop)
  }, [shop])
  if (shop === undefined) return null
  return (
    <>
      <PageHeader title="Import listings" back={{ href: '/listings', label: 'Listings' }}>
        From a CSV file of up to 100,000 rows.
      </PageHeader>
      {run && <Running run={run} shop={shop} />}
      {file && (
        // An import of another tab hides the preview, which keeps its columns and cards until that is complete.
        <div style={{ display: run ? 'none' : 'contents' }}>
          <Preview
            {...file}
            shop={shop}
            isHidden={run !== undefined}
            isPayoutVerified={me?.account.payout_verified ?? false}
            onBack={() => setFile(undefined)}
            onStart={async (items, refused) => {
              const { columns, rows, separator } = file.csv
              const hasBegun = await begin(shop, {
                id: randomName(),
                name: file.name,
                fingerprint: file.fingerprint,
                begunAt: Date.now(),
                columns,
                rows,
                separator,
                items,
                refused,
              })
              if (hasBegun) setFile(undefined)
            }}
          />
        </div>
      )}
      {!run && !file && <ChooseFile onFile={setFile} />}
    </>
  )
}

/** Identifies the content of a file. It is no SHA-256, because browsers compute that only with HTTPS. */
function fingerprintOf(bytes: Uint8Array): string {
  let [a, b] = [1, 2]
  for (const byte of bytes) {
    a = Math.imul(a ^ byte, 0x01000193)
    b = Math.imul(b ^ byte, 0x9e3779b1)
  }
  return `${bytes.length} ${a} ${b}`
}

function ChooseFile({ onFile }: { onFile: (file: ChosenFile) => void }) {
  const [error, setError] = useState<string>()
  const read = async (file: File | undefined) => {
    if (!file) return
    try {
      const bytes = new Uint8Array(await file.arrayBuffer())
      onFile({ name: file.name, csv: readCsv(bytes), fingerprint: fingerprintOf(bytes) })
    } catch (error) {
      setError(error instanceof CsvError ? error.message : 'The file could not be read.')
    }
  }
  return (
    <>
      <FormErrors messages={error ? [error] : []} />
      <DropZone
        aria-label="CSV file"
        className="drop-zone"
        onDrop={async ({ items }) => {
          const dropped = items.find((item) => item.kind === 'file')
          await read(await dropped?.getFile())
        }}
      >
        <Icon name="upload" />
        <p>Drop a CSV file here</p>
        <FileTrigger
          acceptedFileTypes={['.csv', '.tsv', '.txt', 'text/csv']}
          onSelect={(files) => void read(files?.[0])}
        >
          <Button look="primary">Choose a file</Button>
        </FileTrigger>
      </DropZone>
      <Section
        title="Columns"
        help="The first row has the names of the columns. Other columns are kept for the file of rows that fail."
      >
        <dl className="facts">
          {GUIDE.map(([name, text]) => (
            <div key={name}>
              <dt className="code">{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </Section>
    </>
  )
}

const GUIDE = [
  ['card or product', 'Id of the card (swsh9-18 or brs_18), or slug of the sealed product'],
  ['condition', 'M, NM, LP, MP, HP, DMG, or G with grading_company and grading_grade; for cards'],
  ['language', LANGUAGES.join(', ')],
  ['price, quantity', 'Price per unit in euros, and the stock'],
  ['printing', 'standard if empty; holo, reverse_holo, first_edition …'],
  ['reference', 'Your own name, such as a SKU: unique among your listings'],
  [
    'description, photo_urls',
    'A text for buyers; addresses of photos, separated by spaces or commas',
  ],
]
