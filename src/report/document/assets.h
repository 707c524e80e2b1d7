/* Files that the build puts into the binary (tools/embed): ui/ and Chart.js. */
#ifndef WL_REPORT_DOCUMENT_ASSETS_H
#define WL_REPORT_DOCUMENT_ASSETS_H

extern const unsigned char wl_asset_chart_js[], wl_asset_report_js[], wl_asset_report_css[];
extern const unsigned long wl_asset_chart_js_size, wl_asset_report_js_size, wl_asset_report_css_size;
extern const char wl_asset_chart_js_hash[], wl_asset_report_js_hash[], wl_asset_report_css_hash[];

#endif
