import { useState } from 'react'
import { formatDate, formatMoney, formatNumber } from '../ui/format.ts'
import { Money } from '../ui/values.tsx'
import type { Overview } from './api.ts'

type Day = Overview['sales']['days'][number]

const WIDTH = 900
const HEIGHT = 180
const GAP = 0.3

/** Sales and payouts per day as bars. The table below has the same figures, for reading and for screen readers. */
export function SalesChart({ days, total }: Overview['sales']) {
  const [isOpen, setIsOpen] = useState(false)
  const sold = days.filter((day) => day.orders > 0 || day.paid_out > 0)
  return (
    <>
      <Bars days={days} />
      <details
        className="figures"
        open={isOpen}
        onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
      >
        <summary>Figures by day</summary>
        <div className="table-frame">
          <table className="table" aria-label="Sales and payouts by day">
            <thead>
              <tr>
                <th scope="col">Day</th>
                <th scope="col" className="end">
                  Items sold
                </th>
                <th scope="col" className="end">
                  Sales
                </th>
                <th scope="col" className="end">
                  After commission
                </th>
                <th scope="col" className="end">
                  Paid out
                </th>
              </tr>
            </thead>
            <tbody>
              {sold.toReversed().map((day) => (
                <FigureRow key={day.date} name={formatDate(day.date)} figures={day} />
              ))}
              <FigureRow name="Total" figures={total} />
            </tbody>
          </table>
        </div>
      </details>
    </>
  )
}

const FigureRow = ({ name, figures }: { name: string; figures: Omit<Day, 'date'> }) => (
  <tr>
    <th scope="row">{name}</th>
    <td className="end" data-label="Items sold">
      {formatNumber(figures.orders)}
    </td>
    <td className="end" data-label="Sales">
      <Money amount={figures.merchandise} />
    </td>
    <td className="end" data-label="After commission">
      <Money amount={figures.seller_net} />
    </td>
    <td className="end" data-label="Paid out">
      <Money amount={figures.paid_out} />
    </td>
  </tr>
)

function Bars({ days }: { days: Day[] }) {
  const largest = Math.max(...days.map((day) => Math.max(day.merchandise, day.paid_out)))
  const step = WIDTH / days.length
  const width = step * (1 - GAP)
  const height = (amount: number) => (amount / (largest || 1)) * HEIGHT
  return (
    <figure className="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {days.map((day, index) => (
          <g key={day.date}>
            <title>
              {`${formatDate(day.date)}: ${formatMoney(day.merchandise)} sold, ${formatMoney(day.paid_out)} paid out`}
            </title>
            <rect className="hit" x={index * step} y={0} width={step} height={HEIGHT} />
            <rect
              className="sold"
              x={index * step + (step - width) / 2}
              y={HEIGHT - height(day.merchandise)}
              width={width / 2}
              height={height(day.merchandise)}
            />
            <rect
              className="paid"
              x={index * step + step / 2}
              y={HEIGHT - height(day.paid_out)}
              width={width / 2}
              height={height(day.paid_out)}
            />
          </g>
        ))}
      </svg>
      <figcaption>
        <span>{formatDate(days[0]!.date)}</span>
        <span className="legend">
          <span className="sold">Sales</span>
          <span className="paid">Payouts</span>
          {largest > 0 && <span>highest {formatMoney(largest)}</span>}
        </span>
        <span>{formatDate(days.at(-1)!.date)}</span>
      </figcaption>
    </figure>
  )
}
