import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import {
  checkOutboundUrl,
  type OutboundRules,
  outboundAgent,
  parseOutboundAllowList,
} from '#shared/peers/outbound-url.ts';

const rules = (allow?: string, more: Partial<OutboundRules> = {}): OutboundRules => ({
  setting: 'BATON_TEST_ALLOW',
  allow: allow === undefined ? undefined : parseOutboundAllowList(allow),
  allowLoopback: false,
  connectsHere: true,
  ...more,
});

describe('a URL is let through', () => {
  test.each([
    ['http://192.0.2.1/a', undefined],
    ['https://images.example/a', undefined],
    ['http://192.0.2.9:8080/', '192.0.2.0/24'],
    ['http://[2001:db8::7]/', '2001:db8::/32'],
    ['http://[64:ff9b::192.0.2.1]/', undefined],
    ['http://[2002:c000:201::1]/', undefined],
    ['http://Images.Example./x', 'images.example'],
    ['http://a.b.example/x', '*.example'],
    ['http://host.example/images/one.raw', 'http://host.example/images/'],
    // to be looked at when it is connected to
    ['http://host.example/', '192.0.2.0/24'],
    // asked for by address: the operator means it
    ['http://127.0.0.1:8080/', '127.0.0.1'],
    ['http://169.254.7.7/', '169.254.0.0/16'],
  ])('%s by %s', (url, allow) => {
    expect(checkOutboundUrl('field', url, rules(allow)).href).toBeTruthy();
  });
});

describe('a URL is refused', () => {
  test.each([
    ['http://127.0.0.1/', undefined],
    ['http://127.1/', undefined],
    ['http://2130706433/', undefined],
    ['http://0x7f.1/', undefined],
    ['http://[::1]/', undefined],
    ['http://[::ffff:127.0.0.1]/', undefined],
    ['http://[::]/', undefined],
    ['http://0.0.0.0/', undefined],
    ['http://localhost:6385/', undefined],
    ['http://foo.localhost./', undefined],
    ['http://169.254.169.254/latest/meta-data', undefined],
    ['http://[fd00:ec2::254]/', undefined],
    ['http://[fe80::1]/', undefined],
    // IPv4 addresses inside of IPv6 ones
    ['http://[64:ff9b::169.254.169.254]/', undefined],
    ['http://[64:ff9b:1::127.0.0.1]/', undefined],
    ['http://[2002:7f00:1::]/', undefined],
    ['http://[::127.0.0.1]/', undefined],
    ['http://[::ffff:0:127.0.0.1]/', undefined],
    ['http://192.0.0.192/', undefined],
    ['http://168.63.129.16/', undefined],
    ['http://[fd20:ce::254]/', undefined],
    ['http://ip6-localhost/', undefined],
    ['http://metadata.google.internal/', undefined],
    ['http://192.0.3.1/', '192.0.2.0/24'],
    ['http://other.example/', 'images.example'],
    ['http://example/', '*.example'],
    ['http://notexample/', '*.example'],
    ['http://host.example/images-of-others', 'http://host.example/images'],
    ['http://host.example/images/%2e%2e/secret', 'http://host.example/images'],
    ['http://host.example:81/images/a', 'http://host.example/images'],
    ['https://host.example/images/a', 'http://host.example/images'],
  ])('%s by %s', (url, allow) => {
    expect(() => checkOutboundUrl('field', url, rules(allow))).toThrow(/field/);
  });

  test('by a range, when somebody else looks the name up', () => {
    expect(() => checkOutboundUrl('f', 'http://host.example/', rules('192.0.2.0/24', { connectsHere: false }))).toThrow(
      'f: BATON_TEST_ALLOW does not allow host.example',
    );
  });

  test.each(['file:///etc/passwd', 'ftp://192.0.2.1/', 'nonsense', ''])('because it is none: %j', (url) => {
    expect(() => checkOutboundUrl('field', url, rules())).toThrow('field must be an http:// or https:// URL');
  });
});

test.each(['a_b', 'ftp://host/', '192.0.2.0/33', 'x/24'])('a list with %s is refused', (text) => {
  expect(() => parseOutboundAllowList(text)).toThrow(JSON.stringify(text));
});

describe('a connection', () => {
  const ask = async (given: OutboundRules, host: string): Promise<string> => {
    const server = createServer((_, response) => response.end('inside')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const agent = outboundAgent(given);
    try {
      const { port } = server.address() as AddressInfo;
      const answer = await request(`http://${host}:${port}/`, { dispatcher: agent });
      return await answer.body.text();
    } finally {
      await agent.close();
      server.close();
    }
  };

  test('is refused by the address that a name leads to', async () => {
    await expect(ask(rules('localhost'), 'localhost')).rejects.toThrow(/connect to localhost: loopback/);
    await expect(ask(rules(), '127.0.0.1')).rejects.toThrow(/connect to 127\.0\.0\.1: loopback/);
  });

  test('is made where the rules allow it', async () => {
    expect(await ask(rules(undefined, { allowLoopback: true }), 'localhost')).toBe('inside');
    expect(await ask(rules('127.0.0.0/8,::1'), 'localhost')).toBe('inside');
    expect(await ask(rules('127.0.0.1'), '127.0.0.1')).toBe('inside');
  });
});
