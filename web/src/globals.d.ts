declare module "*.css";

/** True in the bundle of reports in one file. */
declare const REPORT: boolean;

declare module "*.svg" {
	const address: string; // data:
	export default address;
}
