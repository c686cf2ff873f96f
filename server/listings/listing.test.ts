import { describe, expect, it } from 'vitest'
import { LISTING_STATUSES, type ListingStatus } from '../enums.ts'
import { applyChanges, type Changeable, quantityAvailable } from './listing.ts'

const listing = (status: ListingStatus): Changeable => ({
  priceCents: 4_50,
  quantity: status === 'active' ? 3 : status === 'sold' ? 0 : 2,
  status,
  description: 'Sleeved',
})

describe('changes of status and stock', () => {
  // Current status, status sent, quantity sent; new status, new stock.
  it.each<[ListingStatus, ListingStatus | undefined, number | undefined, ListingStatus, number]>([
    ['active', undefined, undefined, 'active', 3],
    ['active', undefined, 0, 'sold', 0],
    ['active', undefined, 5, 'active', 5],
    ['active', 'active', undefined, 'active', 3],
    ['active', 'active', 0, 'sold', 0],
    ['active', 'active', 5, 'active', 5],
    ['active', 'sold', undefined, 'active', 3],
    ['active', 'sold', 0, 'sold', 0],
    ['active', 'sold', 5, 'active', 5],
    ['active', 'hidden', undefined, 'hidden', 3],
    ['active', 'hidden', 0, 'hidden', 0],
    ['active', 'hidden', 5, 'hidden', 5],
    ['sold', undefined, undefined, 'sold', 0],
    ['sold', undefined, 0, 'sold', 0],
    ['sold', undefined, 5, 'active', 5],
    ['sold', 'active', undefined, 'sold', 0],
    ['sold', 'active', 0, 'sold', 0],
    ['sold', 'active', 5, 'active', 5],
    ['sold', 'sold', undefined, 'sold', 0],
    ['sold', 'sold', 0, 'sold', 0],
    ['sold', 'sold', 5, 'active', 5],
    ['sold', 'hidden', undefined, 'hidden', 0],
    ['sold', 'hidden', 0, 'hidden', 0],
    ['sold', 'hidden', 5, 'hidden', 5],
    ['hidden', undefined, undefined, 'hidden', 2],
    ['hidden', undefined, 0, 'hidden', 0],
    ['hidden', undefined, 5, 'hidden', 5],
    ['hidden', 'active', undefined, 'active', 2],
    ['hidden', 'active', 0, 'sold', 0],
    ['hidden', 'active', 5, 'active', 5],
    ['hidden', 'sold', undefined, 'hidden', 2],
    ['hidden', 'sold', 0, 'hidden', 0],
    ['hidden', 'sold', 5, 'hidden', 5],
    ['hidden', 'hidden', undefined, 'hidden', 2],
    ['hidden', 'hidden', 0, 'hidden', 0],
    ['hidden', 'hidden', 5, 'hidden', 5],
  ])(
    'a listing that is %s, changed to status %s and quantity %s, becomes %s with stock %d',
    (from, status, quantity, after, stock) => {
      expect(applyChanges(listing(from), { status, quantity })).toEqual({
        priceCents: 4_50,
        description: 'Sleeved',
        status: after,
        quantity: stock,
      })
    },
  )
})

describe('changes of other fields', () => {
  it.each(LISTING_STATUSES)('an empty change leaves a listing that is %s as it is', (status) => {
    expect(applyChanges(listing(status), {})).toEqual(listing(status))
  })

  it('changing price or description of a listing leaves the other fields as they are', () => {
    expect(applyChanges(listing('active'), { priceCents: 1 })).toEqual({
      ...listing('active'),
      priceCents: 1,
    })
    expect(applyChanges(listing('hidden'), { description: 'Mint' })).toEqual({
      ...listing('hidden'),
      description: 'Mint',
    })
  })

  it.each([null, ''])('the description %j clears the description of a listing', (description) => {
    expect(applyChanges(listing('active'), { description }).description).toBeNull()
  })
})

describe('quantityAvailable', () => {
  it.each([
    [5, 0, 5],
    [5, 2, 3],
    [5, 5, 0],
    [1, 3, 0],
    [0, 0, 0],
  ])('a listing of %d units with %d reserved has %d available', (quantity, reserved, available) => {
    expect(quantityAvailable({ quantity, reserved })).toBe(available)
  })
})
