import { beforeAll, describe, expect, it } from 'vitest'
import type { SignedInClient } from '../../test/app.ts'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  holdRequests,
  loseResponse,
  startBrowserApp,
  tabTo,
} from '../../test/browser.ts'
import { logDeliveries, startReceiver } from '../../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { DISABLED_AFTER } from '../../webhooks/endpoint.ts'

describe.skipIf(!chromiumPath)('the page Webhooks', { timeout: 120_000 }, () => {
  let app: BrowserApp
  let member: SignedInClient
  beforeAll(async () => {
    app = await startBrowserApp({ settings: { ...NO_LIMITS, WEBHOOK_ALLOW_PRIVATE: 'true' } })
    member = await app.member()
  })

  it('a seller adds an endpoint after a mistake, sends a test, and reads its delivery', async () => {
    const receiver = await startReceiver()
    const page = await app.open('/dashboard/webhooks', { member, expects: /status of 422/ })
    await page.getByText('No endpoints yet').waitFor()

    await page.getByRole('button', { name: 'Add endpoint' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('URL').fill('http://127.0.0.1/hooks')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Add endpoint' }).click()
    await dialog.getByText('must not point to a private').waitFor()
    expect(await dialog.getByLabel('URL').inputValue()).toBe('http://127.0.0.1/hooks')
    await dialog.getByLabel('URL').fill(receiver.url)
    await page.keyboard.press('Enter')
    const secret = page.getByRole('dialog', { name: 'Signing secret' }).getByText('svc_whsec_')
    const first = await secret.textContent()
    await page.getByRole('button', { name: 'Done' }).click()

    // By keyboard: the focus returns to the menu's button from the menu and from both dialogs.
    const actions = page.getByRole('button', { name: `Actions for ${receiver.url}` })
    await actions.press('Enter')
    await page.getByRole('menuitem', { name: 'Rotate the secret' }).press('Enter')
    await page.getByRole('button', { name: 'Rotate secret' }).press('Enter')
    await secret.waitFor()
    expect(await secret.textContent()).not.toBe(first)
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await actions.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Send a test event' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await page.getByRole('heading', { level: 1, name: /order\.created #/ }).waitFor()
    await app.runDeliveries()
    await page.getByText('Delivered').waitFor()
    await page.locator('.attempts').getByText('204', { exact: true }).waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Deliveries' }).click()
    await page.getByRole('row', { name: /order\.created.*Delivered/ }).waitFor()
  })

  it('a test event whose response comes after Back does not change the next page, whose input stays, and a message says that it is being sent', async () => {
    const shop = await app.member()
    const { url } = await startReceiver()
    await shop.post('/dashboard/api/webhooks', { payload: { url, events: ['order.created'] } })
    const page = await app.open('/dashboard/keys', { member: shop })
    page.on('dialog', (question) => question.accept())
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByRole('button', { name: 'Actions for' }).click()
    await page.getByRole('menuitem', { name: 'Send a test event' }).click()
    const request = await holdRequests(page, '**/dashboard/api/webhooks/*/test')
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await request.sent
    await page.goBack()
    await page.getByRole('link', { name: 'Create a key' }).first().click()
    const name = page.getByRole('dialog').getByRole('textbox', { name: 'Name' })
    await name.fill('Till')
    request.release()
    await page.getByText('The test event is being sent.').waitFor()
    expect(await name.inputValue()).toBe('Till')
  })

  it('another attempt after a lost response adds no second endpoint, nor says that a deleted one is missing, and a second one with its URL is announced', async () => {
    const seller = await app.member()
    const receiver = await startReceiver()
    const page = await app.open('/dashboard/webhooks', {
      member: seller,
      expects: /ERR_FAILED|status of 404/,
    })
    const dialog = page.getByRole('dialog')
    const warning = dialog.getByText('There is an endpoint with this URL already.')
    await page.getByRole('button', { name: 'Add endpoint' }).click()
    await dialog.getByLabel('URL').fill(receiver.url)
    await loseResponse(page, '**/dashboard/api/webhooks')
    await dialog.getByRole('button', { name: 'Add endpoint' }).click()
    await dialog.getByText('The connection to the service was lost.').waitFor()
    // The list behind the dialog has the endpoint that this attempt has added.
    await page.locator('.endpoint-url', { hasText: receiver.url }).waitFor()
    expect(await warning.count()).toBe(0)
    await dialog.getByRole('button', { name: 'Add endpoint' }).click()
    await page.getByRole('dialog', { name: 'Signing secret' }).waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    const endpoints = async () => (await seller.get('/dashboard/api/webhooks')).body.data
    expect(await endpoints()).toHaveLength(1)

    await page.getByRole('button', { name: 'Add endpoint' }).click()
    const status = (await dialog.locator('p[role="status"]').elementHandle())!
    await dialog.getByLabel('URL').fill(receiver.url)
    await warning.waitFor()
    // Screen readers skip a status that appears together with its text.
    expect(await status.textContent()).toContain('There is an endpoint with this URL already.')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Add endpoint' }).click()
    await page.getByRole('dialog', { name: 'Signing secret' }).waitFor()
    expect(await endpoints()).toHaveLength(2)

    await page.getByRole('button', { name: 'Done' }).click()
    await page
      .getByRole('button', { name: `Actions for ${receiver.url}` })
      .first()
      .click()
    await page.getByRole('menuitem', { name: 'Delete endpoint' }).click()
    const consequence = await dialog.getAttribute('aria-describedby')
    expect(await page.locator(`[id="${consequence}"]`).textContent()).toContain('deliver')
    await loseResponse(page, '**/dashboard/api/webhooks/*')
    await dialog.getByRole('button', { name: 'Delete endpoint' }).click()
    await dialog.getByText('The connection to the service was lost.').waitFor()
    await dialog.getByRole('button', { name: 'Delete endpoint' }).click()
    await page.getByText('The endpoint was deleted.').waitFor()
    expect(await endpoints()).toHaveLength(1)
  })

  it('a seller learns why an endpoint was disabled, enables it, and resends what it has missed, by keyboard alone', async () => {
    const owner = await app.member()
    const receiver = await startReceiver()
    const { body } = await owner.post('/dashboard/api/webhooks', {
      payload: { url: receiver.url, events: ['order.created'] },
    })
    const { id } = body.data
    receiver.respondWith(500, 'out of order')
    for (let i = 0; i < DISABLED_AFTER; i++) {
      await owner.post(`/dashboard/api/webhooks/${id}/test`, {
        payload: { event: 'order.created' },
      })
    }
    await app.ctx.db`
      update delivery_queue
      set tries = 4, first_attempt_at = next_attempt_at - interval '6 hours'
      where endpoint_id = ${id}
    `
    await app.runDeliveries()
    receiver.respondWith(204)
    // The first events are older than the day on which the last of their deliveries failed.
    await app.ctx.db`
      update deliveries
      set created_at = created_at - interval '3 days'
      where endpoint_id = ${id} and id <= (select min(id) + 4 from deliveries where endpoint_id = ${id})
    `

    const page = await app.open('/dashboard/webhooks', { member: owner })
    await page.getByText(/Disabled since/).waitFor()
    await page.getByText(/status 500/).waitFor()
    await expectAccessible(page)
    await tabTo(page, page.getByRole('button', { name: 'Enable endpoint' }))
    await page.keyboard.press('Enter')
    await page.getByText('Active', { exact: true }).waitFor()
    // The button is gone. The keyboard goes on at the heading of its endpoint, before the menu.
    await page.getByRole('heading', { name: receiver.url }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Tab')
    const actions = page.getByRole('button', { name: `Actions for ${receiver.url}` })
    await actions.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    const resend = page.getByRole('menuitem', { name: 'Resend missed deliveries' })
    await page.getByRole('menuitem').first().and(page.locator(':focus')).waitFor()
    await page.keyboard.press('ArrowDown')
    await resend.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Resend' }))
    await page.keyboard.press('Enter')
    await page.getByText(`${DISABLED_AFTER} deliveries are being sent again.`).waitFor()
    await actions.and(page.locator(':focus')).waitFor()
    receiver.arrived.length = 0
    await app.runDeliveries()
    expect(receiver.arrived.length).toBe(DISABLED_AFTER)
  })

  it('the filters of deliveries take the day that the log shows in the shop’s time zone', async () => {
    const shop = await app.member()
    const { db } = app.ctx
    await db`update accounts set time_zone = 'Pacific/Auckland' where id = ${shop.accountId}`
    const { body } = await shop.post('/dashboard/api/webhooks', {
      payload: { url: (await startReceiver()).url, events: ['order.created'] },
    })
    const { id } = body.data
    await shop.post(`/dashboard/api/webhooks/${id}/test`, { payload: { event: 'order.created' } })
    const moment = app.ctx.now()
    // The next day in Auckland, and in the time zone of the browser.
    moment.setUTCHours(23, 30, 0, 0)
    await db`update deliveries set created_at = ${moment} where endpoint_id = ${id}`
    const next = new Date(moment.getTime() + 86_400_000)
    const shown = next.toLocaleDateString('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

    const page = await app.open('/dashboard/webhooks/deliveries', { member: shop, width: 320 })
    await page.getByText(`${shown}, `).waitFor()
    const day = next.toISOString().slice(0, 10)
    await page.getByLabel('From').fill(day)
    const [filtered] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith(`?from=${day}&to=${day}`)),
      page.getByLabel('To').fill(day),
    ])
    expect((await filtered.json()).data).toHaveLength(1)
    await page.getByText(`${shown}, `).waitFor()
    await page
      .getByLabel('From')
      .fill(new Date(next.getTime() + 86_400_000).toISOString().slice(0, 10))
    await page.getByText('No such deliveries').waitFor()
    await expectAccessible(page)
  })

  it('the log of deliveries leads to no page behind its newest 10,000, and says how to see the others', async () => {
    const shop = await app.member()
    const payload = { url: (await startReceiver()).url, events: ['listing.sold'] }
    const { id } = (await shop.post('/dashboard/api/webhooks', { payload })).body.data
    await logDeliveries(app, shop.accountId, [id], 10_050)
    const page = await app.open('/dashboard/webhooks/deliveries?page=333', { member: shop })
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('of 10,050 deliveries. Filter the list to see others.').waitFor()
    expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true)
  })

  /** A shop with one delivery, whose first attempt got no response. */
  const shopWithFailedDelivery = async () => {
    const receiver = await startReceiver()
    receiver.respond = (response) => response.destroy()
    const shop = await app.member()
    const payload = { url: receiver.url, events: ['order.created'] }
    const { id } = (await shop.post('/dashboard/api/webhooks', { payload })).body.data
    await shop.post(`/dashboard/api/webhooks/${id}/test`, { payload: { event: 'order.created' } })
    await app.runDeliveries()
    return shop
  }

  it('a phone shows the next attempt of a delivery below the former ones, not below their label', async () => {
    const shop = await shopWithFailedDelivery()
    const page = await app.open('/dashboard/webhooks/deliveries', { member: shop, width: 360 })
    const attempts = page.getByRole('cell', { name: /1 attempt, last without response · next/ })
    const status = page.getByRole('cell', { name: 'Pending' }).getByText('Pending')
    const [next, pending] = [
      await attempts.locator('time').boundingBox(),
      await status.boundingBox(),
    ]
    expect(next!.x).toBeGreaterThanOrEqual(pending!.x)
  })

  it('the time to the next attempt of a delivery goes on in a log that is open', async () => {
    const shop = await shopWithFailedDelivery()
    const page = await app.open('/dashboard/webhooks/deliveries', { member: shop })
    const next = page.getByRole('cell', { name: /^1 attempt/ }).locator('time')
    await next.filter({ hasText: /^in / }).waitFor()
    await page.clock.setFixedTime(Date.now() + 60 * 60_000)
    await next.filter({ hasText: / ago$/ }).waitFor()
  })

  it('each attempt of a delivery is shown once, also those of the same second', async () => {
    const shop = await app.member()
    const payload = { url: (await startReceiver()).url, events: ['order.created'] }
    const { id } = (await shop.post('/dashboard/api/webhooks', { payload })).body.data
    const test = { payload: { event: 'order.created' } }
    const sent = (await shop.post(`/dashboard/api/webhooks/${id}/test`, test)).body.data
    await app.runDeliveries()
    await app.ctx.db`update deliveries set attempts = attempts || attempts where id = ${sent.id}`
    const page = await app.open(`/dashboard/webhooks/deliveries/${sent.id}`, { member: shop })
    const attempts = page.locator('.attempts').getByRole('listitem')
    await attempts.nth(1).waitFor()
    await advance(app.operator, 60)
    await shop.post(`/dashboard/api/webhooks/deliveries/${sent.id}/resend`)
    await app.runDeliveries()
    await page.clock.setFixedTime(Date.now() + 60_000)
    await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`)
    await attempts.nth(2).waitFor()
    expect(await attempts.count()).toBe(3)
  })

  it('a delivery of a disabled or deleted endpoint cannot be resent from its page', async () => {
    const shop = await app.member()
    const payload = { url: (await startReceiver()).url, events: ['order.created'] }
    const { id } = (await shop.post('/dashboard/api/webhooks', { payload })).body.data
    const test = { payload: { event: 'order.created' } }
    const sent = (await shop.post(`/dashboard/api/webhooks/${id}/test`, test)).body.data
    const page = await app.open('/dashboard/webhooks/deliveries', {
      member: shop,
      expects: /status of 500/,
    })
    const row = page.getByRole('row', { name: /order\.created/ })
    await row.getByText(payload.url).waitFor()
    // An endpoint that isn't read yet, or can't be read, is not a deleted one.
    await page.route('**/dashboard/api/webhooks', (route) => route.fulfill({ status: 500 }))
    await page.reload()
    await row.waitFor()
    expect(await row.getByText('Deleted endpoint').count()).toBe(0)
    await page.unrouteAll()
    await page.goto(`${app.address}/dashboard/webhooks/deliveries/${sent.id}`)
    const resend = page.getByRole('button', { name: 'Resend' })
    await resend.waitFor()
    await app.ctx.db`update webhook_endpoints set disabled_at = now() where id = ${id}`
    await page.reload()
    await page.getByText(`${payload.url} (disabled)`).waitFor()
    expect(await resend.count()).toBe(0)
    await shop.delete(`/dashboard/api/webhooks/${id}`)
    await page.reload()
    await page.getByText('Deleted endpoint').waitFor()
    expect(await resend.count()).toBe(0)
    await page.getByRole('link', { name: 'Deliveries', exact: true }).first().click()
    await row.getByText('Deleted endpoint').waitFor()
    await page.goto(`${app.address}/dashboard/webhooks/deliveries?endpoint_id=${id}`)
    const filter = page.getByLabel('Endpoint', { exact: true })
    await filter.getByRole('option', { name: 'Deleted endpoint' }).waitFor({ state: 'attached' })
    expect(await filter.inputValue()).toBe(String(id))
  })

  it('an endpoint that was deleted elsewhere disappears after its rotation or deletion was refused', async () => {
    const shop = await app.member()
    const page = await app.open('/dashboard/webhooks', { member: shop, expects: /status of 404/ })
    await page.getByText('No endpoints yet').waitFor()
    for (const action of ['Rotate', 'Delete']) {
      const payload = { url: (await startReceiver()).url, events: ['order.created'] }
      const { id } = (await shop.post('/dashboard/api/webhooks', { payload })).body.data
      await page.reload()
      const card = page.getByRole('heading', { name: payload.url })
      await page.getByRole('button', { name: `Actions for ${payload.url}` }).click()
      await page.getByRole('menuitem', { name: action }).click()
      await shop.delete(`/dashboard/api/webhooks/${id}`)
      await page.getByRole('dialog').getByRole('button', { name: action }).click()
      await page.getByRole('alert').getByText('There is no such webhook endpoint.').waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await card.waitFor({ state: 'detached' })
    }
  })

  it('the signature checker names a mistake, until the input changes', async () => {
    const page = await app.open('/dashboard/webhooks/signature', { member })
    await page.getByLabel('Body').fill('{}')
    await page.getByLabel('Timestamp').fill('yesterday')
    await page.getByLabel('Signature', { exact: true }).fill('abc')
    await page.getByLabel('Secret').fill('svc_whsec_x')
    await page.getByRole('button', { name: 'Check signature' }).click()
    await page.getByText('The signature is wrong.').waitFor()
    await page.getByText(/Unix seconds/).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Body').fill('{"a":1}')
    await page.getByText('The signature is wrong.').waitFor({ state: 'detached' })
    const request = await holdRequests(page, '**/dashboard/api/webhooks/signature*')
    const check = page.getByRole('button', { name: 'Check signature' })
    await check.click()
    await request.sent
    await page.getByLabel('Body').fill('{}')
    request.release()
    await check.locator('.spinner').waitFor({ state: 'detached' })
    expect(await page.getByText('The signature is wrong.').count()).toBe(0)
  })
})
