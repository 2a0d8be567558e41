import { describe, expect, test } from 'vitest';
import { type AtaSecurity, eraseAta, parseAtaSecurity, readAtaSecurity } from '#agent/erase/ata-security.ts';
import { hdparmIdentify, securitySection } from '#agent/erase/testing/recorded-hdparm.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type Run, run as runProcess } from '#shared/process/run.ts';

const signal = new AbortController().signal;

describe('hdparm -I', () => {
  test('of a disk that can erase itself', () => {
    expect(parseAtaSecurity(hdparmIdentify(securitySection()))).toEqual({
      supported: true,
      enabled: false,
      locked: false,
      frozen: false,
      enhancedErase: true,
      eraseMinutes: 4,
      enhancedEraseMinutes: 2,
    });
  });

  test('frozen, locked, without enhanced erase', () => {
    const text = hdparmIdentify(securitySection({ frozen: true, enabled: true, locked: true, enhanced: false }));
    expect(parseAtaSecurity(text)).toMatchObject({ frozen: true, enabled: true, locked: true, enhancedErase: false });
  });

  test('without a security section, as of a virtual disk', () => {
    expect(parseAtaSecurity(hdparmIdentify(undefined))).toMatchObject({ supported: false, frozen: false });
  });

  test('of what is not an ATA disk', async () => {
    expect(parseAtaSecurity('/dev/sr0:\n\nATAPI CD-ROM, with removable media\n')).toBeUndefined();
    const run: Run = () => Promise.reject(new AppError('command_failed', 'hdparm exited with 25'));
    expect(await readAtaSecurity(run, '/dev/sda')).toBeUndefined();
  });
});

describe('eraseAta', () => {
  /** A disk as hdparm drives it; `failing` commands exit with an error. */
  const fakeDisk = (state: Parameters<typeof securitySection>[0] = {}, failing: readonly string[] = []) => {
    const now = { ...state };
    const commands: string[] = [];
    const run: Run = (_command, args) => {
      const command = args.find((arg) => /^(--security-|-I)/.test(arg)) ?? '';
      commands.push(command);
      if (failing.includes(command)) return Promise.reject(new AppError('command_failed', `${command}: SG_IO error`));
      if (command === '--security-set-pass') now.enabled = true;
      if (command === '--security-unlock') now.locked = false;
      if (/--security-(disable|erase)/.test(command)) now.enabled = false;
      return Promise.resolve(ranWell(command === '-I' ? hdparmIdentify(securitySection(now)) : ''));
    };
    const before = parseAtaSecurity(hdparmIdentify(securitySection(state))) as AtaSecurity;
    return { commands, erase: () => eraseAta(run, '/dev/sda', before, signal) };
  };

  test('sets a password and erases, enhanced where offered', async () => {
    const disk = fakeDisk();
    await disk.erase();
    expect(disk.commands).toEqual(['--security-set-pass', '--security-erase-enhanced', '-I']);
    const plain = fakeDisk({ enhanced: false });
    await plain.erase();
    expect(plain.commands).toContain('--security-erase');
  });

  test('a disk that an interrupted erase left locked is unlocked first', async () => {
    const disk = fakeDisk({ enabled: true, locked: true });
    await disk.erase();
    expect(disk.commands.slice(0, 3)).toEqual(['--security-unlock', '--security-disable', '-I']);
  });

  test('a frozen disk is told of, and left alone', async () => {
    const disk = fakeDisk({ frozen: true });
    await expect(disk.erase()).rejects.toThrow(/the firmware has frozen the security settings of \/dev\/sda/);
    expect(disk.commands).toEqual([]);
  });

  test("a password that is somebody else's is told of", async () => {
    const disk = fakeDisk({ enabled: true, locked: true }, ['--security-unlock']);
    await expect(disk.erase()).rejects.toThrow(/locked with a password that this agent did not set/);
  });

  test('a failed erase does not leave the disk with a password', async () => {
    const disk = fakeDisk({}, ['--security-erase-enhanced']);
    await expect(disk.erase()).rejects.toThrow('/dev/sda did not erase itself');
    expect(disk.commands.at(-1)).toBe('--security-disable');
    const stuck = fakeDisk({}, ['--security-erase-enhanced', '--security-disable']);
    await expect(stuck.erase()).rejects.toThrow(/keeps its password, which is "NULL"/);
  });

  test('nor does the stop of the agent', async () => {
    const stop = new AbortController();
    const ended: string[] = [];
    // programs that do nothing, under the signal that all of the agent's have
    const stoppable: Run = async (_command, args, options) => {
      const command = args.find((arg) => /^(--security-|-I)/.test(arg)) ?? '';
      if (command.startsWith('--security-erase')) stop.abort();
      const result = await runProcess('true', [], { signal: stop.signal, ...options });
      ended.push(command);
      return result;
    };
    const before = parseAtaSecurity(hdparmIdentify(securitySection())) as AtaSecurity;
    await expect(eraseAta(stoppable, '/dev/sda', before, stop.signal)).rejects.toThrow('/dev/sda did not erase itself');
    expect(ended).toEqual(['--security-set-pass', '--security-disable']);
  });
});
