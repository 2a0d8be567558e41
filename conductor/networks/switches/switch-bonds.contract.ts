import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isolated, type PortVlans, portVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchBond } from '#conductor/model/switch-bond.ts';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import type {
  BondAbilities,
  SwitchAccess,
  SwitchConnection,
  SwitchDriver,
  SwitchPortSetting,
} from '#conductor/networks/switch-driver.ts';
import { errorCode } from '#shared/errors/app-error.ts';

/** The part of a switch under test that its bonds need. */
export interface BondsUnderTest {
  readonly driver: SwitchDriver;
  readonly access: SwitchAccess;
  readonly morePorts: readonly string[];
  readonly cutAt?: (request: number, done: boolean) => () => boolean;
}

/** Tests what every switch driver that makes bonds must do. */
export function testBonds(abilities: BondAbilities, subject: () => BondsUnderTest): void {
  describe('bonds that Baton makes', () => {
    let connection: SwitchConnection;
    let portIds: string[] = [];
    const connect = (from = 101, to = 110): SwitchConnection => {
      const { driver, access } = subject();
      return driver.connect({ ...access, bondNumbers: { from, to } });
    };
    beforeAll(() => {
      connection = connect();
      portIds = subject().morePorts.slice(0, 2);
    });
    afterAll(() => connection?.close());

    const lacp: SwitchBond = { number: 101, mode: 'lacp', acrossPair: false };
    const both = (vlans: PortVlans, bond?: SwitchBond): SwitchPortSetting[] =>
      portIds.map((portId) => ({ portId, vlans, bond }));
    // whether a change takes it down does not count
    const read = async (by = connection) =>
      (await by.readPorts(portIds)).map(({ portId, vlans, bond }) => ({ portId, vlans, bond }));
    const apply = (...settings: Parameters<typeof both>) => connection.apply(both(...settings));
    const trunk = portVlans(100, [300, 301]);

    test('is made of two ports, moved, and taken apart, and each again', async () => {
      const steps: Parameters<typeof both>[] = [
        [isolated],
        [portVlans(200)],
        [portVlans(100), lacp],
        [trunk, lacp],
        [isolated, lacp],
        [portVlans(100), lacp],
        [portVlans(300)],
        [trunk, lacp],
        [isolated],
      ];
      for (const step of steps) {
        const commands = connection.describe(both(...step), await connection.readPorts(portIds));
        await apply(...step);
        await apply(...step);
        expect(await read()).toEqual(both(...step));
        expect(planSwitchports(both(...step), await read())).toEqual([]);
        expect(step[1] === undefined || commands.join('\n').includes('101')).toBe(true);
      }
    });

    test('gets another number, and another mode', async () => {
      await apply(portVlans(100), lacp);
      const kinds = abilities.modes.map((mode, index) => ({ ...lacp, number: 102 + index, mode }));
      const pairs = abilities.pairs.map((mode, index) => ({ number: 104 + index, mode, acrossPair: true }));
      for (const bond of [...kinds, ...pairs, lacp]) {
        await apply(portVlans(200), bond);
        expect(await read()).toEqual(both(portVlans(200), bond));
      }
      await apply(isolated);
    });

    test('of somebody else is read as something else, and its ports are not touched', async () => {
      await apply(portVlans(100), lacp);
      const stranger = connect(201, 210);
      expect(await read(stranger)).toEqual(portIds.map((portId) => ({ portId, vlans: 'other', bond: 'unknown' })));
      for (const bond of [undefined, { ...lacp, number: 201 }]) {
        await expect(stranger.apply(both(portVlans(300), bond))).rejects.toMatchObject({
          code: 'switch_error',
          message: expect.stringContaining("which is not Baton's"),
        });
      }
      await stranger.close();
      expect(await read()).toEqual(both(portVlans(100), lacp));
    });

    test('stays as it is when no bonds are given to Baton any more, and says so', async () => {
      await apply(portVlans(100), lacp);
      const { driver, access } = subject();
      const stranger = driver.connect(access);
      // at Open vSwitch a member is not a port
      const others = portIds.map((portId) => ({ portId, vlans: 'other', bond: 'unknown' }));
      expect([others, 'not_found']).toContainEqual(await read(stranger).catch(errorCode));
      const fault = await stranger.apply(both(isolated)).catch(errorCode);
      expect(['switch_error', 'not_found']).toContain(fault);
      await stranger.close();
      expect(await read()).toEqual(both(portVlans(100), lacp));
      await apply(isolated);
    });

    test('with a port that is not to be in it is refused', async () => {
      await apply(portVlans(100), lacp);
      const third = subject().morePorts[2] ?? '';
      const [first = ''] = portIds;
      const wrong = [first, third].map((portId) => ({ portId, vlans: portVlans(200), bond: lacp }));
      await expect(connection.apply(wrong)).rejects.toMatchObject({
        code: 'switch_error',
        message: expect.stringContaining('which Baton did not put there'),
      });
      expect(await read()).toEqual(both(portVlans(100), lacp));
      await apply(isolated);
    });

    test('a connection that is lost at any request leaves the ports as before or as wanted', async (ctx) => {
      const { cutAt, access, driver } = subject();
      ctx.skip(
        /^(https|netconf):/.test(access.endpoint) && !['aos-cx', 'openconfig'].includes(driver.name),
        'these transports carry the commands of ssh, and are cut amid plain changes',
      );
      if (!cutAt) {
        ctx.skip('there are no connections to lose');
        return;
      }
      await apply(portVlans(100));
      for (let request = 0, wasCut = true; wasCut; request += 1) {
        const way = [both(portVlans(100)), both(portVlans(200), lacp)];
        const [before, wanted] = request % 2 ? way.toReversed() : way;
        const move = async (by: SwitchConnection) =>
          by.apply(planSwitchports(wanted ?? [], await by.readPorts(portIds)));
        const isCut = cutAt(Math.max(request, 1), request > 0);
        const outcome = await move(connection).then(
          () => 'moved',
          () => 'failed',
        );
        wasCut = isCut();
        expect(outcome === 'moved' ? [wanted] : [before, wanted], `request ${request}`).toContainEqual(await read());
        const other = connect();
        await move(other);
        expect(await read(other), `request ${request}`).toEqual(wanted);
        await other.close();
      }
      await apply(isolated);
    });
  });
}
