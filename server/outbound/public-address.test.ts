import { describe, expect, it } from 'vitest'
import { isPublicAddress, refusalOfUrl } from './public-address.ts'

const PRIVATE = 'must not point to a private or reserved address.'
const NO_URL = 'must be a public http or https URL.'

describe('a registered URL', () => {
  it.each([
    'http://127.0.0.1/',
    'http://127.0.0.1:8080/hook',
    'https://10.1.2.3/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://0.0.0.0/',
    'http://0/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://0177.0.0.1/',
    'http://127.0.0.1./',
    'http://127.0.0.1../',
    'http://0x7f.1.../',
    'http://１２７.0.0.1/',
    'http://127。0。0。1/',
    'http://%31%32%37.0.0.1/',
    'http:127.0.0.1',
    'http:\\\\127.0.0.1\\',
    'HTTP://127.0.0.1',
    ' http://127.0.0.1 ',
    'ht\ntp://127.0.0.1',
    'http://user:password@127.0.0.1/',
    'http://photos.example@127.0.0.1/',
    'http://[::1]/',
    'http://[::]/',
    'http://[0:0:0:0:0:0:0:1]:80/',
    'http://[::ffff:10.0.0.1]/',
    'http://[::ffff:a00:1]/',
    'http://[::ffff:8.8.8.8]/',
    'http://[::127.0.0.1]/',
    'http://[::ffff:0:127.0.0.1]/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
    'http://[fec0::1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[64:ff9b:1::8.8.8.8]/',
    'http://[2002:7f00:1::]/',
    'http://[2001::1]/',
    'http://[ff02::1]/',
  ])('a URL with a private or reserved address is refused in any spelling: %j', (url) => {
    expect(refusalOfUrl(url)).toBe(PRIVATE)
  })

  it.each([
    'ftp://photos.example/1.jpg',
    'file:///etc/passwd',
    'data:image/png;base64,AAAA',
    'javascript:alert(1)',
    'gopher://photos.example',
    'ws://photos.example',
    '//photos.example/1.jpg',
    'photos.example/1.jpg',
    'http://',
    // Names or labels that exceed the maximum length: converting them to ASCII would take long.
    `http://${'一'.repeat(100)}.example/`,
    `http://${`${'一'.repeat(50)}.`.repeat(3)}example/`,
    `http://user:password@${'a.'.repeat(200)}example/`,
    `http://photos.example/${'a'.repeat(5_000)}`,
    `http://${'a'.repeat(64)}.example/`,
    `http://${'a.'.repeat(125)}com.nl/`,
    'http://photos..example/',
    'http://256.1.1.1/',
    'http://[fe80::1%25eth0]/',
    'http://[::1/',
    '',
  ])('a text that is not a valid http or https URL is refused: %j', (url) => {
    expect(refusalOfUrl(url)).toBe(NO_URL)
  })

  it.each([
    'https://photos.example/1.jpg',
    'http://photos.example:8080/a?b=c#d',
    'https://фото.example/',
    `http://${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}:65535/`,
    `https://${'user@'.repeat(100)}photos.example/${'a'.repeat(1_000)}`,
    'http://8.8.8.8/',
    'http://134744072/',
    'http://[2606:4700::1111]/',
    'http://[64:ff9b::8.8.8.8]/',
    // Names are resolved when they are used, never at registration (§4.16.3).
    'http://localhost/',
    'http://localhost.:3000/',
    'http://printer.local/',
    'http://127.0.0.1.photos.example/',
    'http://10.0.0.1.nip.io/',
  ])('a URL with a public address or any name is accepted: %j', (url) => {
    expect(refusalOfUrl(url)).toBeUndefined()
  })
})

describe('public addresses', () => {
  // The first and last address of each block that the IANA registries list as reserved or not globally reachable.
  it.each([
    ['0.0.0.0', '0.255.255.255'],
    ['10.0.0.0', '10.255.255.255'],
    ['100.64.0.0', '100.127.255.255'],
    ['127.0.0.0', '127.255.255.255'],
    ['169.254.0.0', '169.254.255.255'],
    ['172.16.0.0', '172.31.255.255'],
    ['192.0.0.0', '192.0.0.255'],
    ['192.0.2.0', '192.0.2.255'],
    ['192.88.99.0', '192.88.99.255'],
    ['192.168.0.0', '192.168.255.255'],
    ['198.18.0.0', '198.19.255.255'],
    ['198.51.100.0', '198.51.100.255'],
    ['203.0.113.0', '203.0.113.255'],
    ['224.0.0.0', '239.255.255.255'],
    ['240.0.0.0', '255.255.255.255'],
    ['::', '::1'],
    ['::ffff:0.0.0.0', '::ffff:255.255.255.255'],
    ['64:ff9b::10.0.0.0', '64:ff9b::10.255.255.255'],
    ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
    ['100::', '100::ffff:ffff:ffff:ffff'],
    ['100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff'],
    ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff'],
    ['2001:10::', '2001:1f:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['4000::', 'bfff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['fe80::1%eth0', 'fe80::1%1'],
    ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ])('the addresses %s and %s are not public', (first, last) => {
    expect([isPublicAddress(first), isPublicAddress(last)]).toEqual([false, false])
  })

  it.each([
    // The neighbours of private blocks.
    ['1.0.0.0', '9.255.255.255'],
    ['11.0.0.0', '100.63.255.255'],
    ['100.128.0.0', '126.255.255.255'],
    ['128.0.0.0', '169.253.255.255'],
    ['169.255.0.0', '172.15.255.255'],
    ['172.32.0.0', '191.255.255.255'],
    ['192.0.1.0', '192.0.3.0'],
    ['192.88.98.255', '192.88.100.0'],
    ['192.167.255.255', '192.169.0.0'],
    ['198.17.255.255', '198.20.0.0'],
    ['198.51.99.255', '198.51.101.0'],
    ['203.0.112.255', '203.0.114.0'],
    ['203.0.114.0', '223.255.255.255'],
    ['64:ff9b::1.0.0.0', '64:ff9b::9.255.255.255'],
    ['2000::', '2000:ffff::'],
    ['2001:200::', '2001:db7:ffff::'],
    ['2001:db9::', '2001:ffff::'],
    ['2003::', '3ffe:ffff::'],
    // Special blocks that the registries list as globally reachable: AS112 and AMT.
    ['192.31.196.1', '192.175.48.1'],
    ['192.52.193.1', '2620:4f:8000::1'],
  ])('the addresses %s and %s are public', (first, last) => {
    expect([isPublicAddress(first), isPublicAddress(last)]).toEqual([true, true])
  })

  it('a text that is not an address is not public', () => {
    for (const text of ['', 'photos.example', '1.2.3.4.5', '::g']) {
      expect(isPublicAddress(text)).toBe(false)
    }
  })
})
