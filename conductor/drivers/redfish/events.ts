import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { EventSubscription, EventsInterface } from '#conductor/drivers/interfaces.ts';
import { readMemberPaths } from '#conductor/drivers/redfish/client/collection.ts';
import { httpStatusOf, underTitle } from '#conductor/drivers/redfish/client/errors.ts';
import { finishShown } from '#conductor/drivers/redfish/client/finish-shown.ts';
import { idInPath, ownPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { type Resource, readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { orUndefined, Reference, ServiceRoot } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { AppError } from '#shared/errors/app-error.ts';

const timeoutMs = 60_000;

const EventService = z.looseObject({
  Subscriptions: orUndefined(Reference),
  EventTypesForSubscription: orUndefined(z.array(z.string())),
});

const EventDestination = z.looseObject({
  Id: orUndefined(z.string()),
  Context: orUndefined(z.string()),
  Protocol: orUndefined(z.string()),
  Destination: orUndefined(z.string()),
  EventTypes: orUndefined(z.array(z.string())),
});

/** Where the BMC sends its events (DMTF EventService). */
export function redfishEvents({ client, clock }: RedfishSystem): EventsInterface {
  const open = async (signal: AbortSignal) => {
    const root = await readResource(client, '/redfish/v1/', ServiceRoot, signal);
    const service = root.data.EventService?.['@odata.id'];
    const { data } = service === undefined ? {} : await readResource(client, service, EventService, signal);
    const subscriptions = data?.Subscriptions?.['@odata.id'];
    if (subscriptions !== undefined) return { subscriptions, types: data?.EventTypesForSubscription };
    throw new AppError('not_supported', `the BMC at ${client.origin} has no event subscriptions`);
  };
  const members = (subscriptions: string, signal: AbortSignal): Promise<readonly string[]> =>
    readMemberPaths(client, subscriptions, signal);
  const find = async (id: string, signal: AbortSignal): Promise<string> => {
    const { subscriptions } = await open(signal);
    const found = (await members(subscriptions, signal)).find((path) => idInPath(path) === id);
    if (found !== undefined) return found;
    throw new AppError('not_found', `the BMC at ${client.origin} has no event subscription ${id}`);
  };
  const read = async (path: string, signal: AbortSignal): Promise<EventSubscription> =>
    view(await readResource(client, path, EventDestination, signal));

  return {
    list: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const { subscriptions: path } = await open(signal);
      return { path, members: await members(path, signal) };
    },
    read: async (id, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      return read(await find(id, signal), signal);
    },
    subscribe: async (wanted, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const { subscriptions, types } = await open(signal);
      const strange = types && wanted.eventTypes?.find((type) => !types.includes(type));
      if (strange) throw new AppError('invalid_argument', `EventTypes: '${strange}' is not one of ${types.join(', ')}`);
      const before = await members(subscriptions, signal);
      const answer = await underTitle(`subscribe to events of the BMC at ${client.origin}`, () =>
        client.request({
          method: 'POST',
          path: subscriptions,
          body: {
            Destination: wanted.destination,
            Protocol: wanted.protocol ?? 'Redfish',
            Context: wanted.context ?? '',
            EventTypes: wanted.eventTypes ?? ['Alert'],
            ...(wanted.httpHeaders && wanted.httpHeaders.length > 0 ? { HttpHeaders: wanted.httpHeaders } : {}),
          },
          signal,
        }),
      );
      const { location } = answer.headers;
      // some name none, and answer the collection
      const named = location && ownPath(location, client.origin);
      if (named) return read(named, signal);
      const fresh = (await members(subscriptions, signal)).filter((path) => !before.includes(path));
      const shown = await Promise.all(fresh.map((path) => read(path, signal)));
      // others may have made one meanwhile
      const isOurs = ({ destination }: EventSubscription): boolean => destination === wanted.destination;
      const [made, ...others] = shown.length === 1 ? shown : shown.filter(isOurs);
      if (made && others.length === 0) return made;
      throw new AppError('bmc_error', `the BMC at ${client.origin} does not show the event subscription that it made`);
    },
    unsubscribe: async (id, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const path = await find(id, signal);
      try {
        const answer = await client.request({ method: 'DELETE', path, signal });
        const what = `delete the event subscription ${id} at ${client.origin}`;
        const differs = async (): Promise<string | undefined> => {
          const left = await members((await open(signal)).subscriptions, signal);
          return left.includes(path) ? 'it is still listed' : undefined;
        };
        await finishShown(client, answer, what, { clock, signal, isLookedAt: true, differs });
      } catch (error) {
        if (httpStatusOf(error) !== 404) throw error; // somebody else was faster
      }
    },
  };
}

function view({ path, data }: Resource<z.infer<typeof EventDestination>>): EventSubscription {
  return {
    id: data.Id ?? idInPath(path),
    context: data.Context ?? '',
    protocol: data.Protocol ?? '',
    destination: data.Destination ?? '',
    eventTypes: data.EventTypes ?? [],
  };
}
