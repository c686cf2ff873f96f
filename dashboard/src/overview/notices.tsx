import { Link } from 'wouter'
import { IconButton } from '../ui/button.tsx'
import { unlessDoubleClick } from '../ui/double-click.ts'
import { useFilters } from '../ui/filters.tsx'
import { formatDateTime, isPast, plural } from '../ui/format.ts'
import { Icon } from '../ui/icons.tsx'
import { List } from '../ui/list.tsx'
import { LoadedPage, Pagination } from '../ui/table.tsx'
import { notifyFailure } from '../ui/toast.tsx'
import { dismiss, type NoticeRecord, useNotices } from './api.ts'

/** Things that a seller should know, until they are dismissed. */
export function Notices() {
  const { filters } = useFilters({ page: '' })
  const query = useNotices(filters.page)
  // During an update a process of the former version may respond, whose notices have no pages.
  if (!query.data?.meta?.total) return null
  return (
    <section aria-label="Notices" className="notices">
      <LoadedPage query={query}>
        {({ data, meta }) => (
          <>
            <List>
              {data.map((notice) => (
                <li key={notice.id} className={`notice ${toneOf(notice)}`}>
                  <Icon name={notice.kind === 'key_rotated' ? 'info' : 'warning'} />
                  <div>
                    <NoticeText notice={notice} />{' '}
                    <span className="help">{formatDateTime(notice.created_at)}</span>
                  </div>
                  <IconButton
                    label="Dismiss the notice"
                    icon="close"
                    size="small"
                    onPress={unlessDoubleClick(() => dismiss(notice.id).catch(notifyFailure))}
                  />
                </li>
              ))}
            </List>
            {meta.last_page > 1 && <Pagination meta={meta} noun="notices" />}
          </>
        )}
      </LoadedPage>
    </section>
  )
}

const toneOf = ({ kind }: NoticeRecord) =>
  kind === 'endpoint_disabled' ? 'bad' : kind === 'key_rotated' ? '' : 'warn'

function NoticeText({ notice }: { notice: NoticeRecord }) {
  switch (notice.kind) {
    case 'endpoint_disabled':
      return (
        <>
          <strong>A webhook endpoint was disabled:</strong> {notice.data.url}. {notice.data.reason}{' '}
          <Link href="/webhooks">Enable it again</Link>
        </>
      )
    case 'key_rotated':
      return (
        <>
          <strong>An API key was rotated:</strong> {notice.data.name ?? notice.data.prefix}. Its
          former secret {isPast(notice.data.previous_expires_at) ? 'worked' : 'works'} until{' '}
          {formatDateTime(notice.data.previous_expires_at)}. <Link href="/keys">Keys</Link>
        </>
      )
    case 'photo_failed':
      return (
        <>
          <strong>{plural(notice.count, 'photo')} could not be fetched.</strong> The last one, of
          listing {notice.data.listing_id}: {notice.data.reason}
        </>
      )
  }
}
