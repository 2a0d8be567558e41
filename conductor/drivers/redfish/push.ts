import { firstTaken } from '#conductor/drivers/redfish/client/errors.ts';
import { hasMakersWay, type MakersWay } from '#conductor/drivers/redfish/client/makers.ts';
import type { ComputerSystem } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import { type FileBody, fileBody, fileForm } from '#shared/peers/file-form.ts';

/** The part that an image is for, and where the BMC has it. */
export interface PushTarget {
  /** An item of the inventory that is what is updated; `undefined` = the image alone says what it is for. */
  readonly item: string | undefined;
  /** Resource of `bios` or `bmc`, and items of the inventory by their names; absent for other parts. */
  readonly known?: {
    readonly type: 'BIOS' | 'BMC';
    readonly resource: string | undefined;
    readonly items: readonly string[];
  };
}

/** The documents that go along with an image. */
interface PushForm {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly oem?: Readonly<Record<string, unknown>>;
}

/** Makers of the machine, and of the BMC's program. */
export type Makers = readonly Pick<ComputerSystem, 'Manufacturer' | 'Model'>[];

/**
 * The forms in which a BMC may want an image, best first: the maker's, then those that the standard allows (DSP0266,
 * "Multipart HTTP push updates"; without targets the service finds them by the image). An image for one item is never sent
 * without it. Pure.
 */
export function pushForms({ item, known }: PushTarget, makers: Makers): readonly PushForm[] {
  if (item !== undefined) return [targets([item])];
  if (known === undefined) return [none, targets([])];
  const { type, resource, items } = known;
  const has = (way: MakersWay): boolean => makers.some((maker) => hasMakersWay(way, maker));
  const [first] = items;
  const ofResource = resource === undefined ? [] : [targets([resource])];
  const ofItems = first === undefined ? [] : [targets([first]), targets(items)];
  const empty = targets([]);
  const ofType = (first === undefined ? [none] : ofItems).map((form) => ({ ...form, oem: { ImageType: type } }));
  const forms = [
    ...(has('takes pushed images for a resource')
      ? ofResource.map(({ parameters }) => ({ parameters: { ...parameters, [applyTime]: 'Immediate' } }))
      : []),
    ...(has('takes pushed images by their type') ? ofType : []),
    ...(has('takes pushed images for an empty list') ? [empty] : []),
    none,
    empty,
    ...ofItems,
    ...ofResource,
    // MegaRAC of a maker who does not say so
    ...ofType,
  ];
  return [...new Map(forms.map((form) => [JSON.stringify(form), form])).values()];
}

const applyTime = '@Redfish.OperationApplyTime';
const none: PushForm = { parameters: {} };

function targets(paths: readonly string[]): PushForm {
  return { parameters: { Targets: paths } };
}

/** The image in one form after the other, the next one to a BMC that refuses the one before. @throws AppError as `firstTaken` */
export function pushForm(
  system: RedfishSystem,
  push: { readonly path: string; readonly file: string; readonly forms: readonly PushForm[] },
  limits: PushLimits,
): Promise<RedfishAnswer> {
  return firstTaken(push.forms, async ({ parameters, oem }) => {
    const documents = [
      { name: 'UpdateParameters', json: parameters },
      ...(oem === undefined ? [] : [{ name: 'OemParameters', json: oem }]),
    ];
    return post(system, push.path, await fileForm(documents, { name: 'UpdateFile', path: push.file }), limits);
  });
}

/** The image alone, as `HttpPushUri` takes it. */
export async function pushRaw(
  system: RedfishSystem,
  push: { readonly path: string; readonly file: string },
  limits: PushLimits,
): Promise<RedfishAnswer> {
  return post(system, push.path, await fileBody(push.file), limits);
}

interface PushLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

function post({ client }: RedfishSystem, path: string, form: FileBody, limits: PushLimits): Promise<RedfishAnswer> {
  return client.request({ method: 'POST', path, form, ...limits });
}
