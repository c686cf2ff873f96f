import { expect, it } from 'vitest'
import { addressNetworks, addressSubject } from './address.ts'

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::ffff:cb00:7107', '203.0.113.7'],
  ['203.0.113.7:50001', '203.0.113.7'],
  ['[2001:db8:1:2::9]:50001', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
  ['unix:', 'unknown'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  [undefined, 'unknown'],
])('%s counts for %s', (address, subject) => {
  expect(addressSubject(address)).toBe(subject)
})

it('an IPv6 address counts for its /64, /56 and /48, an IPv4 address for itself', () => {
  expect(addressNetworks('2001:db8:1:2a3f::9')).toEqual([
    { subject: '2001:db8:1:2a3f::/64', factor: 1 },
    { subject: '2001:db8:1:2a00::/56', factor: 4 },
    { subject: '2001:db8:1::/48', factor: 16 },
  ])
  for (const address of ['203.0.113.7', '::ffff:203.0.113.7']) {
    expect(addressNetworks(address)).toEqual([{ subject: '203.0.113.7', factor: 1 }])
  }
})
