import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import type { SwitchAccess, SwitchConnection, SwitchDriver } from '#conductor/networks/switch-driver.ts';

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
  /** An endpoint in the driver's form where nobody answers. */
  readonly deadEndpoint: string;
  stop(): Promise<void>;
}

/** What every switch driver must do. */
export function testSwitchDriver(name: string, start: () => Promise<SwitchUnderTest>): void {
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

    const vlans = async (): Promise<(number | undefined)[]> =>
      (await connection.readPorts(subject.portIds)).map((port) => port.accessVlan);

    test('a port that nobody has set is neither isolated nor in a network', async () => {
      expect(await vlans()).toEqual([0, 0, 0]);
    });

    test('isolates a new port, and again', async () => {
      await connection.apply([{ kind: 'isolate', portId: first }]);
      await connection.apply([{ kind: 'isolate', portId: first }]);
      expect(await vlans()).toEqual([undefined, 0, 0]);
    });

    test('sets an access VLAN, moves to another, and isolates', async () => {
      await connection.apply([{ kind: 'set access VLAN', portId: first, vlan: 100 }]);
      expect(await vlans()).toEqual([100, 0, 0]);
      await connection.apply([{ kind: 'set access VLAN', portId: first, vlan: 200 }]);
      await connection.apply([{ kind: 'set access VLAN', portId: first, vlan: 200 }]);
      expect(await vlans()).toEqual([200, 0, 0]);
      await connection.apply([{ kind: 'isolate', portId: first }]);
      expect(await vlans()).toEqual([undefined, 0, 0]);
    });

    test('takes the lowest and the highest VLAN', async () => {
      await connection.apply([
        { kind: 'set access VLAN', portId: second, vlan: 1 },
        { kind: 'set access VLAN', portId: third, vlan: 4094 },
      ]);
      expect(await vlans()).toEqual([undefined, 1, 4094]);
    });

    test('applies a plan, after which there is nothing to do', async () => {
      const desired = [
        { portId: first, accessVlan: 300 },
        { portId: second, accessVlan: undefined },
        { portId: third, accessVlan: 4094 },
      ];
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
      const operations = [
        { kind: 'set access VLAN', portId: first, vlan: 999 },
        { kind: 'isolate', portId: 'nowhere' },
      ] as const;
      await expect(connection.apply(operations)).rejects.toMatchObject({ code: 'not_found' });
      expect(await vlans()).toEqual(before);
    });

    test('takes calls at the same time, over several connections', async () => {
      const other = subject.driver.connect(subject.access);
      await Promise.all([
        connection.apply([{ kind: 'set access VLAN', portId: first, vlan: 11 }]),
        other.apply([{ kind: 'set access VLAN', portId: second, vlan: 12 }]),
        connection.apply([{ kind: 'set access VLAN', portId: third, vlan: 13 }]),
      ]);
      await other.close();
      expect(await vlans()).toEqual([11, 12, 13]);
    });

    test('stops at once when the signal has fired, and changes nothing', async () => {
      const signal = AbortSignal.abort();
      await expect(connection.readPorts([first], signal)).rejects.toMatchObject({ code: 'aborted' });
      await expect(connection.apply([{ kind: 'isolate', portId: first }], signal)).rejects.toMatchObject({
        code: 'aborted',
      });
      expect(await vlans()).toEqual([11, 12, 13]);
    });

    test('sees what somebody else has changed, and puts it right', async () => {
      await connection.apply([{ kind: 'set access VLAN', portId: first, vlan: 200 }]);
      await subject.setByHand(first, 300);
      expect(await vlans()).toEqual([300, 12, 13]);
      const desired = [{ portId: first, accessVlan: 200 }];
      await connection.apply(planSwitchports(desired, await connection.readPorts([first])));
      expect(await vlans()).toEqual([200, 12, 13]);
    });

    test('two who write the same port at the same time: it ends as one of them wanted', async () => {
      const other = subject.driver.connect(subject.access);
      await Promise.allSettled([
        connection.apply([{ kind: 'set access VLAN', portId: first, vlan: 100 }]),
        other.apply([{ kind: 'set access VLAN', portId: first, vlan: 300 }]),
      ]);
      await other.close();
      const [vlan, ...others] = await vlans();
      expect([100, 300]).toContain(vlan);
      expect(others).toEqual([12, 13]);
    });

    test('a connection that is lost at any request leaves a port as before or as wanted', async () => {
      const { cutAt } = subject;
      if (!cutAt) return;
      await connection.apply([{ kind: 'isolate', portId: first }]);
      // lost before the first; lost after each, which is before the next
      for (let request = 0, wasCut = true; wasCut; request += 1) {
        const [before, wanted] = request % 2 ? [100, undefined] : [undefined, 100];
        const desired = [{ portId: first, accessVlan: wanted }];
        const move = async () => connection.apply(planSwitchports(desired, await connection.readPorts([first])));
        const isCut = cutAt(Math.max(request, 1), request > 0);
        const outcome = await move().then(
          () => 'moved',
          (error: unknown) => error,
        );
        wasCut = isCut();
        const [vlan, ...others] = await vlans();
        expect(outcome === 'moved' ? [wanted] : [before, wanted], `request ${request}`).toContain(vlan);
        expect(others).toEqual([12, 13]);
        // and the same once more ends it
        await move();
        expect(await vlans(), `request ${request}`).toEqual([wanted, 12, 13]);
      }
    });

    test('moves 48 ports at once', async () => {
      const portIds = [...subject.portIds, ...subject.morePorts];
      expect(portIds).toHaveLength(48);
      const desired = portIds.map((portId, index) => ({
        portId,
        accessVlan: [undefined, 100, 200][index % 3],
      }));
      await connection.apply(planSwitchports(desired, await connection.readPorts(portIds)));
      expect(await connection.readPorts(portIds)).toEqual(desired);
    });

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
