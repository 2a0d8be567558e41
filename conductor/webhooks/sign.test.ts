import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { newWebhookSecret, webhookHeaders, webhookSecretFault } from '#conductor/webhooks/sign.ts';

const message = {
  id: 'e7c5e1b0-1b67-4c56-8a1d-2a9f6f0f3c11',
  at: new Date(),
  body: '{"type":"node.power_state","ü":1}',
};

test("the convention's own library takes what we sign, and nothing else", () => {
  const secret = newWebhookSecret();
  const headers = webhookHeaders(secret, message);
  expect(new Webhook(secret).verify(message.body, headers)).toMatchObject({ type: 'node.power_state' });
  expect(() => new Webhook(secret).verify(`${message.body} `, headers)).toThrow('No matching signature');
  expect(() => new Webhook(newWebhookSecret()).verify(message.body, headers)).toThrow('No matching signature');
  const old = webhookHeaders(secret, { ...message, at: new Date(Date.now() - 600_000) });
  expect(() => new Webhook(secret).verify(message.body, old)).toThrow('too old');
});

test('secrets are checked', () => {
  expect(webhookSecretFault(newWebhookSecret())).toBeUndefined();
  for (const wrong of ['secret', 'whsec_c2hvcnQ=', `whsec_${'!'.repeat(44)}`]) {
    expect(webhookSecretFault(wrong)).toContain('24 to 64 random bytes');
  }
});
