import { z } from 'zod';
import { lenient, Reference } from '#conductor/drivers/redfish/schemas.ts';

/** What is read of DMTF's Storage, Drive and Volume resources; as tolerant as `schemas.ts`. */

const References = lenient(z.array(Reference));
const Texts = lenient(z.array(z.string()));

export const Storage = z.looseObject({
  Id: lenient(z.string()),
  Drives: References,
  Volumes: lenient(Reference),
  StorageControllers: lenient(z.array(z.looseObject({ SupportedRAIDTypes: Texts }))),
});

const Identifiers = lenient(
  z.array(z.looseObject({ DurableName: lenient(z.string()), DurableNameFormat: lenient(z.string()) })),
);

export const Drive = z.looseObject({
  Id: lenient(z.string()),
  CapacityBytes: lenient(z.number()),
  MediaType: lenient(z.string()),
  Protocol: lenient(z.string()),
  Model: lenient(z.string()),
  Manufacturer: lenient(z.string()),
  SerialNumber: lenient(z.string()),
  Identifiers,
  Status: lenient(z.looseObject({ State: lenient(z.string()) })),
});
export type Drive = z.infer<typeof Drive>;

export const VolumeCollection = z.looseObject({
  Members: z.array(Reference),
  '@Redfish.OperationApplyTimeSupport': lenient(z.looseObject({ SupportedValues: Texts })),
});

export const Volume = z.looseObject({
  Id: lenient(z.string()),
  Name: lenient(z.string()),
  RAIDType: lenient(z.string()),
  VolumeType: lenient(z.string()),
  CapacityBytes: lenient(z.number()),
  Identifiers,
  Links: lenient(z.looseObject({ Drives: References })),
});
export type Volume = z.infer<typeof Volume>;
