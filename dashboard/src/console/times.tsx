import { DateTime } from '../ui/values.tsx'

/** Moments of one record with their names, one below the other. Those that have not come are left out. */
export const Times = ({ times }: { times: (readonly [name: string, at: string | null])[] }) => (
  <dl className="times">
    {times.map(
      ([name, at]) =>
        at !== null && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <DateTime at={at} />
            </dd>
          </div>
        ),
    )}
  </dl>
)
