import { describe, expect, test } from 'vitest';
import {
  formatNvme,
  nvmeController,
  parseIdentifyController,
  parseSanitizeLog,
  sanitizeNvme,
} from '#agent/erase/nvme.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import type { Run } from '#shared/process/run.ts';

const signal = new AbortController().signal;

/** The fields that matter of `nvme id-ctrl --output-format=json` (nvme-cli 2.3, QEMU 7.2's controller). */
const qemu = {
  vid: 6966,
  ssvid: 6900,
  sn: 'BATON-NODE0-0       ',
  mn: 'QEMU NVMe Ctrl                          ',
  oacs: 266,
  frmw: 3,
  nn: 256,
  fna: 0,
  sanicap: 0,
};

describe('abilities', () => {
  test("of QEMU's controller: format without crypto erase", () => {
    expect(parseIdentifyController('/dev/nvme0n1', JSON.stringify(qemu))).toEqual({
      format: true,
      cryptoErase: false,
      formatsAllNamespaces: false,
      sanitize: [],
    });
  });

  test('of a controller that can do all', () => {
    expect(parseIdentifyController('/dev/nvme0n1', JSON.stringify({ ...qemu, oacs: 23, fna: 5, sanicap: 3 }))).toEqual({
      format: true,
      cryptoErase: true,
      formatsAllNamespaces: true,
      sanitize: ['crypto erase', 'block erase'],
    });
  });

  test('text that is not JSON', () => {
    expect(() => parseIdentifyController('/dev/nvme0n1', 'NVMe status: invalid')).toThrow(
      "read what /dev/nvme0n1's controller can do",
    );
  });
});

test('the arguments of a format', async () => {
  const seen: string[] = [];
  const run: Run = (command, args) => {
    seen.push([command, ...args].join(' '));
    return Promise.resolve(ranWell());
  };
  await formatNvme(run, '/dev/nvme1n2', 2, signal);
  expect(seen).toEqual(['nvme format /dev/nvme1n2 --ses=2 --force --timeout=43200000']);
});

describe('sanitize', () => {
  const logOf = (sprog: number, status: string) =>
    JSON.stringify({ nvme0: { sprog, sstat: { global_erased: 0, status } } });

  test('the log, by name of the controller or bare', () => {
    expect(parseSanitizeLog('/dev/nvme0', logOf(32_768, '(2) Sanitize in Progress.'))).toEqual({
      state: 'running',
      share: 0.5,
    });
    expect(parseSanitizeLog('/dev/nvme0', '{"sprog": 65535, "sstat": 257}').state).toBe('done');
    expect(parseSanitizeLog('/dev/nvme0', logOf(65_535, '(3) Sanitize Failed.')).state).toBe('failed');
    expect(() => parseSanitizeLog('/dev/nvme0', '{"nvme0": {}}')).toThrow('how far the sanitize of /dev/nvme0 is');
    const done = '{"sprog": 65535, "sstat": 257}';
    // one of several controllers may be another
    expect(() => parseSanitizeLog('/dev/nvme0', `{"nvme0": ${done}, "nvme1": ${done}}`)).toThrow(
      'how far the sanitize',
    );
    expect(() => parseSanitizeLog('/dev/nvme0', '{"sprog": 0, "sstat": {"status": "Unknown"}}')).toThrow('how far');
  });

  const sanitize = async (...states: readonly string[]) => {
    const asked = [...states];
    const commands: string[] = [];
    const shares: number[] = [];
    const run: Run = (_command, args) => {
      commands.push(args.join(' '));
      return Promise.resolve(ranWell(args[0] === 'sanitize' ? '' : logOf(16_384, asked.shift() ?? '(1) Done')));
    };
    const services = { run, clock: createInstantClock(), signal };
    await sanitizeNvme(services, '/dev/nvme0n1', 'block erase', (share) => shares.push(share));
    return { commands, shares };
  };

  test('waits for the end and tells how far it is', async () => {
    const { commands, shares } = await sanitize('(2) running', '(2) running');
    expect(commands[0]).toBe('sanitize /dev/nvme0 --sanact=2');
    expect(shares).toEqual([0.25, 0.25]);
  });

  test('a failure is one', async () => {
    await expect(sanitize('(2) running', '(3) failed')).rejects.toThrow('/dev/nvme0 says that its block erase failed');
  });
});

test.each([
  ['/dev/nvme0n1', '/dev/nvme0'],
  ['/dev/nvme12n3', '/dev/nvme12'],
  ['/dev/sda', '/dev/sda'],
])('%s belongs to %s', (device, controller) => {
  expect(nvmeController(device)).toBe(controller);
});
