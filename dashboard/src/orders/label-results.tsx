import { Badge } from '../ui/badge.tsx'
import { Button, ExternalLink } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { plural } from '../ui/format.ts'
import { List } from '../ui/list.tsx'
import { type LabelResult, labelsUrl } from './api.ts'
import { LABELS } from './words.ts'

/** The outcome for each order of a bulk purchase, and the PDF of the labels that are ready. */
export function LabelResults({
  results,
  onClose,
}: {
  results: LabelResult[]
  onClose: () => void
}) {
  const ready = results
    // The label of a cancelled order is ready as well, with a message not to use it.
    .filter(({ label }) => label?.status === 'ready' && label.message === null)
    .map(({ order }) => order)
  return (
    <Dialog title="Labels" onClose={onClose}>
      <p role="status">{plural(ready.length, 'label is', 'labels are')} ready.</p>
      <List className="outcomes">
        {results.map(({ order, label, error }) => (
          <li key={order}>
            <strong>Order {order}</strong>
            <Outcome status={label?.status} />
            {(error?.message ?? label?.message) && (
              <p className="help">{error?.message ?? label?.message}</p>
            )}
          </li>
        ))}
      </List>
      <div className="form-actions">
        {ready.length > 0 && (
          <ExternalLink href={labelsUrl(ready)}>
            Open {plural(ready.length, 'label')} as one PDF
          </ExternalLink>
        )}
        <Button onPress={onClose}>Done</Button>
      </div>
    </Dialog>
  )
}

function Outcome({ status }: { status: NonNullable<LabelResult['label']>['status'] | undefined }) {
  if (status === undefined) return <Badge tone="bad">No label</Badge>
  if (status === 'self_ship') return <Badge>You ship it</Badge>
  return <Badge tone={LABELS[status].tone}>{LABELS[status].label}</Badge>
}
