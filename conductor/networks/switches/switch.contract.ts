import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import type {
  BondAbilities,
  SwitchAccess,
  SwitchConnection,
  SwitchDriver,
  SwitchPortSetting,
  SwitchPortState,
} from '#conductor/networks/switch-driver.ts';
import { testBonds } from '#conductor/networks/switches/switch-bonds.contract.ts';
import { errorCode } from '#shared/errors/app-error.ts';

/** A switch with ports that nobody has set yet. */
export interface SwitchUnderTest {
  readonly driver: SwitchDriver;
  readonly access: SwitchAccess;
  readonly portIds: readonly [string, string, string];
  /** Further ports, 48 with those: what one rack has. */
  readonly morePorts: readonly string[];
  /** Somebody else makes an access port of it, and not by the driver. */
  setByHand(portId: string, vlan: number): Promise<void>;
  /**
   * Loses the connection at that request, counted from now on and from 1; `done` = it takes effect first. Answers a
   * function that says whether that came to pass, and has it no more. `undefined` = there are no connections.
   */
  readonly cutAt?: (request: number, done: boolean) => () => boolean;
  readonly trunkNeedsUntagged?: boolean | undefined;
  /** An endpoint in the driver's form where nobody answers. */
  readonly deadEndpoint: string;
  stop(): Promise<void>;
}

/** Whether a change takes it down does not count. */
const settingOf = ({ portId, vlans, bond }: SwitchPortSetting | SwitchPortState) => ({ portId, vlans, bond });
const to = (portId: string, vlan?: number): SwitchPortSetting => ({ portId, vlans: portVlans(vlan) });

/**
 * Tests what every switch driver must do.
 * @param bonds those that the driver makes
 */
export function testSwitchDriver(name: string, start: () => Promise<SwitchUnderTest>, bonds?: BondAbilities): void {
  describe(`switch driver contract: ${name}`, () => {
    let subject: SwitchUnderTest;
    let connection: SwitchConnection;
    let first = '';
    let second = '';
    let third = '';

    beforeAll(async () => {
      subject = await start();
      [first, second, third] = subject.portIds;
      connection = subject.driver.connect(subject.access);
    });
    afterAll(async () => {
      await connection?.close();
      await subject?.stop();
    });

    const read = async (portIds: readonly string[] = subject.portIds) =>
      (await connection.readPorts(portIds)).map((port) => port.vlans);
    /** In place of an access port its VLAN. */
    const vlans = async (): Promise<(number | string)[]> =>
      (await read()).map((each) =>
        each === 'other' || each.tagged.length > 0 ? 'other' : (each.untagged ?? 'isolated'),
      );

    test('a port that nobody has set is neither isolated nor in a network', async () => {
      expect(await vlans()).toEqual(['other', 'other', 'other']);
    });

    test('isolates a new port, and again', async () => {
      await connection.apply([to(first)]);
      await connection.apply([to(first)]);
      expect(await vlans()).toEqual(['isolated', 'other', 'other']);
    });

    test('sets an access VLAN, moves to another, and isolates', async () => {
      await connection.apply([to(first, 100)]);
      expect(await vlans()).toEqual([100, 'other', 'other']);
      await connection.apply([to(first, 200)]);
      await connection.apply([to(first, 200)]);
      expect(await vlans()).toEqual([200, 'other', 'other']);
      await connection.apply([to(first)]);
      expect(await vlans()).toEqual(['isolated', 'other', 'other']);
    });

    test('makes a trunk of VLANs with and without an untagged one, and an access port of it', async () => {
      const trunk = portVlans(100, [300, 301, 302, 400]);
      await connection.apply([{ portId: first, vlans: trunk }]);
      await connection.apply([{ portId: first, vlans: trunk }]);
      expect(await read([first])).toEqual([trunk]);
      const less = portVlans(200, [301]);
      await connection.apply([{ portId: first, vlans: less }]);
      expect(await read([first])).toEqual([less]);
      const onlyTagged = portVlans(undefined, [301, 400]);
      const fault = await connection.apply([{ portId: first, vlans: onlyTagged }]).catch(errorCode);
      const { trunkNeedsUntagged = false } = subject;
      expect(fault).toBe(trunkNeedsUntagged ? 'invalid_argument' : undefined);
      expect(await read([first])).toEqual([trunkNeedsUntagged ? less : onlyTagged]);
      await connection.apply([to(first, 300)]);
      expect(await vlans()).toEqual([300, 'other', 'other']);
      await connection.apply([to(first)]);
    });

    test('takes the lowest and the highest VLAN', async () => {
      await connection.apply([to(second, 1), to(third, 4094)]);
      expect(await vlans()).toEqual(['isolated', 1, 4094]);
    });

    test('applies a plan, after which there is nothing to do', async () => {
      const desired = [to(first, 300), to(second), to(third, 4094)];
      await connection.apply(planSwitchports(desired, await connection.readPorts(subject.portIds)));
      expect(planSwitchports(desired, await connection.readPorts(subject.portIds))).toEqual([]);
    });

    test('answers in the order asked, and nothing for nothing', async () => {
      const states = await connection.readPorts([third, first]);
      expect(states.map((port) => port.portId)).toEqual([third, first]);
      expect(await connection.readPorts([])).toEqual([]);
      await connection.apply([]);
    });

    test('names an unknown port, and then does nothing at all', async () => {
      const before = await vlans();
      await expect(connection.readPorts([first, 'nowhere'])).rejects.toMatchObject({
        code: 'not_found',
        message: expect.stringContaining('nowhere'),
      });
      await expect(connection.apply([to(first, 999), to('nowhere')])).rejects.toMatchObject({ code: 'not_found' });
      expect(await vlans()).toEqual(before);
    });

    test('takes calls at the same time, over several connections', async () => {
      const other = subject.driver.connect(subject.access);
      await Promise.all([
        connection.apply([to(first, 11)]),
        other.apply([to(second, 12)]),
        connection.apply([to(third, 13)]),
      ]);
      await other.close();
      expect(await vlans()).toEqual([11, 12, 13]);
    });

    test('stops at once when the signal has fired, and changes nothing', async () => {
      const signal = AbortSignal.abort();
      await expect(connection.readPorts([first], signal)).rejects.toMatchObject({ code: 'aborted' });
      await expect(connection.apply([to(first)], signal)).rejects.toMatchObject({
        code: 'aborted',
      });
      expect(await vlans()).toEqual([11, 12, 13]);
    });

    test('sees what somebody else has changed, and puts it right', async () => {
      await connection.apply([to(first, 200)]);
      await subject.setByHand(first, 300);
      expect(await vlans()).toEqual([300, 12, 13]);
      const desired = [to(first, 200)];
      await connection.apply(planSwitchports(desired, await connection.readPorts([first])));
      expect(await vlans()).toEqual([200, 12, 13]);
    });

    test('two who write the same port at the same time: it ends as one of them wanted', async () => {
      const other = subject.driver.connect(subject.access);
      await Promise.allSettled([connection.apply([to(first, 100)]), other.apply([to(first, 300)])]);
      await other.close();
      const [vlan, ...others] = await vlans();
      expect([100, 300]).toContain(vlan);
      expect(others).toEqual([12, 13]);
    });

    test('a connection that is lost at any request leaves a port as before or as wanted', async () => {
      const { cutAt } = subject;
      if (!cutAt) return;
      await connection.apply([to(first)]);
      // lost before the first; lost after each, which is before the next
      for (let request = 0, wasCut = true; wasCut; request += 1) {
        const [before, wanted] = request % 2 ? [100, 'isolated'] : ['isolated', 100];
        const desired = [to(first, request % 2 ? undefined : 100)];
        const move = async (by: SwitchConnection) => by.apply(planSwitchports(desired, await by.readPorts([first])));
        const isCut = cutAt(Math.max(request, 1), request > 0);
        const outcome = await move(connection).then(
          () => 'moved',
          (error: unknown) => error,
        );
        wasCut = isCut();
        const [vlan, ...others] = await vlans();
        expect(outcome === 'moved' ? [wanted] : [before, wanted], `request ${request}`).toContain(vlan);
        expect(others).toEqual([12, 13]);
        // and the same once more ends it, by another conductor
        const other = subject.driver.connect(subject.access);
        await move(other);
        await other.close();
        expect(await vlans(), `request ${request}`).toEqual([wanted, 12, 13]);
      }
    });

    test('moves 48 ports at once', async () => {
      const portIds = [...subject.portIds, ...subject.morePorts];
      expect(portIds).toHaveLength(48);
      const kinds = [portVlans(undefined), portVlans(100), portVlans(200), portVlans(100, [300, 301])];
      const desired = portIds.map((portId, index) => ({ portId, vlans: kinds[index % kinds.length] ?? isolated }));
      await connection.apply(planSwitchports(desired, await connection.readPorts(portIds)));
      expect((await connection.readPorts(portIds)).map(settingOf)).toEqual(desired.map(settingOf));
    });

    test('a VLAN that it has created goes with its last port, where that is wanted', async (ctx) => {
      const { driver, access } = subject;
      const transport = access.endpoint.split(':')[0] ?? '';
      ctx.skip(
        !driver.removesVlans?.some((each) => each === transport),
        'no VLAN is created, or none can be recognised',
      );
      const [removing, strict] = [{ removeVlans: true }, { createVlans: false }].map((more) =>
        driver.connect({ ...access, ...more }),
      );
      if (!removing || !strict) return;
      const move = async (...settings: SwitchPortSetting[]): Promise<unknown> =>
        removing.apply(planSwitchports(settings, await removing.readPorts(settings.map(({ portId }) => portId))));
      const has = (vlan: number): Promise<string> =>
        strict.apply([to(third, vlan)]).then(
          () => 'there',
          ({ message }: Error) => message,
        );
      // one that nobody has set may be in any VLAN
      const all = await connection.readPorts([...subject.portIds, ...subject.morePorts]);
      await connection.apply(all.filter(({ vlans: its }) => its === 'other').map(({ portId }) => to(portId)));
      await connection.apply([to(first, 777)]);
      await move(to(second, 777), to(third, 778));
      await move(to(first), to(third));
      expect(await has(777)).toBe('there');
      expect(await has(778)).toContain('has no VLAN 778');
      await move(to(second), to(third));
      expect(await has(777)).toContain('has no VLAN 777');
      await removing.close();
      await strict.close();
    });

    test('makes the bonds that it says it makes', () => {
      const { driver, access } = subject;
      const { transports, ...abilities } = driver.bonds ?? { modes: [], pairs: [] };
      const isHere = !transports || transports.some((each) => access.endpoint.startsWith(`${each}:`));
      expect(driver.bonds && isHere ? abilities : undefined).toEqual(bonds);
    });

    if (bonds) testBonds(bonds, () => subject);

    test('refuses an endpoint that is none', () => {
      expect(() => subject.driver.connect({ ...subject.access, endpoint: 'nonsense' })).toThrow(
        expect.objectContaining({ code: 'invalid_argument' }),
      );
    });

    test('says that nobody answers', async () => {
      const call = async (): Promise<unknown> =>
        subject.driver.connect({ ...subject.access, endpoint: subject.deadEndpoint }).readPorts([first]);
      await expect(call()).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    });
  });
}
