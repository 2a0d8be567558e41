import { describe, expect, test } from 'vitest';
import { parseBootif, parseKernelParams, readAgentConfig } from '#agent/config.ts';

describe('readAgentConfig', () => {
  test('has the defaults of the protocol', () => {
    expect(readAgentConfig('quiet ipa-api-url=http://192.0.2.1:6385 ipa-unknown=x', {})).toEqual({
      apiUrls: ['http://192.0.2.1:6385'],
      agentToken: undefined,
      insecure: false,
      debug: false,
      globalRequestId: undefined,
      bootMac: undefined,
      addresses: undefined,
      listen: { host: '::', port: 9999 },
      advertise: {
        host: undefined,
        port: undefined,
        protocol: undefined,
        interface: undefined,
        attempts: 6,
        retryMs: 10_000,
      },
      lookup: { timeoutMs: 600_000, intervalMs: 1000 },
      inspection: undefined,
      lldp: undefined,
      requestTimeoutMs: 30_000,
      hardwareDelayMs: 0,
      apiVersion: undefined,
      tls: { minVersion: 'TLSv1.2', ciphers: undefined, curve: 'p384' },
      stateDir: '/run/baton-agent',
      scriptDir: '/usr/lib/baton/steps.d',
      setClock: false,
    });
  });

  test('reads what Ironic passes', () => {
    const config = readAgentConfig(
      'nofb vga=normal ipa-debug=1 ipa-api-url=https://a.example:6385/,http://[fd00::1]:6385/v1 ' +
        'ipa-global-request-id=req-1 BOOTIF=01-52-54-00-00-00-01 ipa-tls-min-version=1.3 ipa-insecure=1',
      {},
    );
    expect(config.apiUrls).toEqual(['https://a.example:6385', 'http://[fd00::1]:6385']);
    expect(config).toMatchObject({ debug: true, insecure: true, globalRequestId: 'req-1' });
    expect(config.bootMac).toBe('52:54:00:00:00:01');
    expect(config.tls.minVersion).toBe('TLSv1.3');
  });

  test('a machine that is only to be inspected needs no API, as Ironic boots it', () => {
    const config = readAgentConfig(
      'ipa-inspection-callback-url=http://a:1/v1/continue_inspection ipa-inspection-collectors=default,logs,pci-devices ' +
        'ipa-collect-lldp=1 ipa-lldp-timeout=60',
      {},
    );
    expect(config).toMatchObject({
      apiUrls: [],
      inspection: {
        callbackUrl: 'http://a:1/v1/continue_inspection',
        collectors: ['default', 'logs', 'pci-devices'],
      },
      lldp: { timeoutMs: 60_000 },
    });
    expect(() => readAgentConfig('ipa-inspection-callback-url=mdns', {})).toThrow(
      /ipa-inspection-callback-url: an http:\/\/ or https:\/\/ address/,
    );
  });

  test('the environment overrides the kernel command line', () => {
    const config = readAgentConfig('ipa-api-url=http://a:1 BOOTIF=52:54:00:00:00:01', {
      BATON_AGENT_API_URL: 'http://b:2',
      BATON_AGENT_LISTEN_PORT: '0',
      BATON_AGENT_BOOTIF: '52:54:00:00:00:02',
      BATON_AGENT_ADDRESSES: '52:54:00:00:00:AA,52-54-00-00-00-BB',
    });
    expect(config.apiUrls).toEqual(['http://b:2']);
    expect(config.listen.port).toBe(0);
    expect(config.bootMac).toBe('52:54:00:00:00:02');
    expect(config.addresses).toEqual(['52:54:00:00:00:aa', '52:54:00:00:00:bb']);
  });

  test('an empty value is none', () => {
    const config = readAgentConfig('ipa-api-url=http://a:1 BOOTIF= ipa-agent-token= ipa-listen-port=', {});
    expect(config).toMatchObject({ bootMac: undefined, agentToken: undefined, listen: { port: 9999 } });
  });

  test('one message lists all problems', () => {
    const commandLine =
      'ipa-listen-port=70000 ipa-lookup-timeout=soon BOOTIF=eth0 ipa-agent-token=short ipa-tls-min-version=1.1 ' +
      'ipa-debug=maybe ipa-ironic-api-version=2.0';
    expect(() => readAgentConfig(commandLine, {})).toThrow(
      /ipa-api-url: must be given;.*ipa-agent-token: at least 32.*ipa-debug:.*BOOTIF: a MAC address.*ipa-listen-port:.*ipa-lookup-timeout:.*ipa-ironic-api-version: a microversion.*ipa-tls-min-version:/,
    );
  });

  test.each(['mdns', 'ftp://a:1', 'http://a:1,b', ','])('refuses %j as API address', (url) => {
    expect(() => readAgentConfig(`ipa-api-url=${url}`, {})).toThrow(/ipa-api-url: http:\/\/ or https:\/\/ addresses/);
  });
});

describe('parseKernelParams', () => {
  test('sees key=value items only, and of equals the last', () => {
    const params = parseKernelParams('nofb vga=normal ipa-api-url=http://a:1\troot=UUID=1-2 ipa-debug=0 ipa-debug=1\n');
    expect(Object.fromEntries(params)).toEqual({
      vga: 'normal',
      'ipa-api-url': 'http://a:1',
      root: 'UUID=1-2',
      'ipa-debug': '1',
    });
  });
});

describe('parseBootif', () => {
  test.each([
    ['pxelinux', '01-AA-bb-cc-dd-ee-ff', 'aa:bb:cc:dd:ee:ff'],
    ['iPXE', 'aa:bb:cc:dd:ee:FF', 'aa:bb:cc:dd:ee:ff'],
    ['dashes without a hardware type', 'aa-bb-cc-dd-ee-ff', 'aa:bb:cc:dd:ee:ff'],
  ])('%s', (_form, text, mac) => expect(parseBootif(text)).toBe(mac));

  test.each(['', 'eth0', '01-aa-bb-cc-dd', '01:aa:bb:cc:dd:ee:ff'])('refuses %j', (text) =>
    expect(parseBootif(text)).toBeUndefined(),
  );
});
