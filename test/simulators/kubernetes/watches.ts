import type { ServerResponse } from 'node:http';
import { Refusal, statusBody } from '#test/simulators/kubernetes/refusal.ts';
import { apiVersionOf, type Resource, typeOf } from '#test/simulators/kubernetes/resource.ts';
import type { Selector } from '#test/simulators/kubernetes/selectors.ts';
import type { Change, Store } from '#test/simulators/kubernetes/store.ts';
import { tableOf } from '#test/simulators/kubernetes/tables.ts';

export interface WatchRequest {
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly selects: Selector;
  /** Empty or `0` = from the state of now, told as additions. */
  readonly resourceVersion: string;
  readonly bookmarks: boolean;
  readonly asTable: boolean;
  readonly timeoutSeconds: number | undefined;
}

/** Streams events until the client leaves, the time is up or the simulator ends it. */
export function streamWatch(store: Store, request: WatchRequest, response: ServerResponse, bookmarkMs: number): void {
  const { plural, namespace, selects, resourceVersion } = request;
  response.writeHead(200, { 'content-type': 'application/json' });
  const write = (type: string, object: unknown): void => {
    // ended, and not closed yet
    if (!response.writableEnded) response.write(`${JSON.stringify({ type, object })}\n`);
  };
  const notify = (type: string, object: Resource): void => {
    write(type, request.asTable ? tableOf(plural, [object], object.metadata.resourceVersion) : object);
  };
  const notifyChange = ({ type, object, previous, plural: changed }: Change): void => {
    if (changed !== plural || (namespace !== undefined && object.metadata.namespace !== namespace)) return;
    const was = previous !== undefined && selects(previous);
    const is = type !== 'DELETED' && selects(object);
    if (was && is) notify('MODIFIED', object);
    else if (is) notify('ADDED', object);
    else if (was) notify('DELETED', object);
  };
  if (resourceVersion === '' || resourceVersion === '0') {
    for (const object of store.list(plural, namespace).filter(selects)) notify('ADDED', object);
  } else {
    const missed = store.since(Number(resourceVersion));
    if (!missed) {
      write('ERROR', statusBody(new Refusal(410, 'Expired', `too old resource version: ${resourceVersion}`)));
      response.end();
      return;
    }
    for (const change of missed) notifyChange(change);
  }
  const unsubscribe = store.subscribe(notifyChange);
  const bookmark = (): void => {
    const type = typeOf(plural);
    const metadata = { resourceVersion: String(store.version()) };
    write('BOOKMARK', { kind: type.kind, apiVersion: apiVersionOf(type), metadata });
  };
  const bookmarks = request.bookmarks && !request.asTable ? setInterval(bookmark, bookmarkMs) : undefined;
  const end = request.timeoutSeconds ? setTimeout(() => response.end(), request.timeoutSeconds * 1000) : undefined;
  response.once('close', () => {
    unsubscribe();
    clearInterval(bookmarks);
    clearTimeout(end);
  });
  response.flushHeaders();
}
