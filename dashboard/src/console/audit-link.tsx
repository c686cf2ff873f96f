import { Link } from 'wouter'
import { useMay } from './api.ts'

/** Leads to the entries of the audit log about a record, such as `order:501`. */
export const AuditLink = ({ record }: { record: string }) =>
  useMay()('listAudit') && (
    <Link href={`/audit?${new URLSearchParams({ record })}`} aria-label={`Changes of ${record}`}>
      Changes
    </Link>
  )
